/// merge_run.h: a run of steps in the making. Private to merge.c and merge_step.c.
#ifndef CUBEBACK_OPENCL_MERGE_RUN_H
#define CUBEBACK_OPENCL_MERGE_RUN_H

#include "merge.h"

enum {
    CBK_OCL_MERGE_ELEMENTS = 8191, ///< of a step: below what the CPU forms give to more than one
                                   ///< work-item
    CBK_OCL_MERGE_KINDS = 16,
    CBK_OCL_MERGE_BUFFERS = 8,
    CBK_OCL_MERGE_TOUCHES = 48, ///< remembered between two barriers
    CBK_OCL_MERGE_AXES = 4,     ///< outer axes, kept axes, reduced axes
    CBK_OCL_MERGE_OPERANDS = 1 + CBK_OCL_POINTWISE_INPUTS,
    CBK_OCL_MERGE_ROUND = 16, ///< blocks of reductions that are done at a time
    CBK_OCL_MERGE_ROUNDS = 4  ///< most of them
};

/// As in kernels/include/merged_step.clh.
struct cbk_ocl_step {
    uint64_t offsets[CBK_OCL_MERGE_OPERANDS];
    uint64_t scalars[2];
    int32_t shape[CBK_OCL_MERGE_AXES];
    int32_t strides[CBK_OCL_MERGE_OPERANDS][CBK_OCL_MERGE_AXES];
    int32_t inner_strides[CBK_OCL_MERGE_OPERANDS];
    int32_t buffers[CBK_OCL_MERGE_OPERANDS];
    int32_t inner, per_row, vectors, kind, outer_rank, is_vector, needs_barrier, carried;
    int32_t rounds, blocks;
};
_Static_assert(sizeof(struct cbk_ocl_step) == 200, "the kernel's layout has no padding");

/// One operation of a run: KIND or REDUCTION of merged.cl after the number.
struct cbk_ocl_kind {
    bool is_reduction;
    char text[112];
};

/// Memory that a step uses.
struct cbk_ocl_touch {
    const void *buffer;
    int64_t begin, end; ///< bytes
    cbk_dtype dtype;
    int64_t dense_length; ///< element i is of the work-item that has element i of a dense step of
                          ///< this length; 0: of any
    bool is_write;
};

struct cbk_ocl_run {
    const struct cbk_rt_caps *caps;
    uint32_t lanes; ///< of all vectors
    uint32_t count; ///< steps
    int32_t most_vectors;
    const char *word; ///< class of all operators; NULL: several, or none yet
    bool has_words;
    bool has_unary, has_binary, has_compare, has_cast, has_move, has_backward;
    bool has_rounds;
    uint32_t kind_count;
    struct cbk_ocl_kind kinds[CBK_OCL_MERGE_KINDS];
    uint32_t buffer_count;
    const void *buffers[CBK_OCL_MERGE_BUFFERS];
    struct cbk_rt_block *blocks[CBK_OCL_MERGE_BUFFERS]; ///< one in each buffer
    struct cbk_ocl_touch carried;                       ///< what the last step has stored
    uint32_t touch_count;
    struct cbk_ocl_touch touches[CBK_OCL_MERGE_TOUCHES]; ///< since the last barrier
};

/// May the reduction become a step at all?
bool cbk_ocl_reduction_is_small(const struct cbk_rt_caps *caps,
                                const struct cbk_ocl_small_reduction *reduction);

/// The width of a launch's vectors; 0: any will do.
uint32_t cbk_ocl_small_launch_lanes(const struct cbk_rt_caps *caps,
                                    const struct cbk_ocl_small_launch *launch);

/// Adds a launch to the run. False if it does not fit; the run is then as before.
bool cbk_ocl_run_add(struct cbk_ocl_run *run, const struct cbk_ocl_small_launch *launch,
                     struct cbk_ocl_step *step);

#endif
