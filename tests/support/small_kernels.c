/// small_kernels.c: see small_kernels.h.
#include "small_kernels.h"

#include <stdlib.h>

#include "runtime_side.h"
#include "support.h"

static const char text[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "kernel void fill(global int *x, ulong offset, int value) {\n"
    "    x[offset + get_global_id(0)] = value;\n"
    "}\n"
    "kernel void add(global const int *x, ulong x_offset, global int *y, ulong y_offset,\n"
    "                int value) {\n"
    "    const size_t i = get_global_id(0);\n"
    "    y[y_offset + i] = x[x_offset + i] + value;\n"
    "}\n"
    "kernel void slow_add(global const int *x, ulong x_offset, global int *y, ulong y_offset,\n"
    "                     int value) {\n"
    "    const size_t i = get_global_id(0);\n"
    "    const int start = x[x_offset + i];\n"
    "    uint state = (uint)start * 2u + 1u;\n"
    "    if (i == 0) {\n"
    "        for (int k = 0; k < 10000000; k++) state = state * 1664525u + 1013904223u;\n"
    "    }\n"
    "    y[y_offset + i] = start + value + (state == 0u);\n"
    "}\n"
    "void report_index(global int *flag, uint operation, long index) {\n"
    "    if (atomic_cmpxchg((volatile global int *)flag, 0, 1) != 0) return;\n"
    "    flag[1] = (int)operation;\n"
    "    flag[2] = (int)(index & 0xffffffffL);\n"
    "    flag[3] = (int)(index >> 32);\n"
    "}\n"
    "kernel void look_up(global int *x, ulong offset, long count, long index,\n"
    "                    global int *index_flag, uint operation) {\n"
    "    if (index < 0 || index >= count) {\n"
    "        report_index(index_flag, operation, index);\n"
    "    } else {\n"
    "        x[offset] = x[offset + (ulong)index];\n"
    "    }\n"
    "}\n";

static const struct cbk_rt_source source = {"small", (const unsigned char *)text, sizeof text - 1};

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    (void)spec;
    (void)defines;
}

static struct cbk_rt_kernel *kernel_of(struct cbk_rt_stream *stream, const char *entry) {
    const struct cbk_rt_spec spec = {.source = &source, .entry = entry, .describe = describe};
    struct cbk_rt_kernel *kernel = NULL;
    assert_ok(cbk_rt_kernel(stream, &spec, &kernel));
    return kernel;
}

void test_small_open(struct test_small *small, struct cbk_rt_stream *stream) {
    *small = (struct test_small){
        .stream = stream,
        .fill = kernel_of(stream, "fill"),
        .add = kernel_of(stream, "add"),
        .slow_add = kernel_of(stream, "slow_add"),
        .look_up = kernel_of(stream, "look_up"),
    };
}

struct cbk_rt_block *test_block(struct cbk_rt_stream *stream, uint64_t int_count) {
    struct cbk_rt_block *block = NULL;
    assert_ok(cbk_rt_alloc(stream, int_count * sizeof(int32_t), &block));
    return block;
}

static struct cbk_rt_launch launch_over(struct cbk_rt_kernel *kernel, const char *operation,
                                        uint64_t count) {
    return (struct cbk_rt_launch){.kernel = kernel,
                                  .operation = operation,
                                  .dimensions = 1,
                                  .global = {(size_t)count, 1, 1},
                                  .local = {1, 1, 1}};
}

cbk_status test_small_fill(struct test_small *small, struct cbk_rt_block *x, uint64_t count,
                           int32_t value) {
    struct cbk_rt_launch launch = launch_over(small->fill, "fill", count);
    const uint64_t offset = cbk_rt_block_offset(x) / sizeof(int32_t);
    cbk_rt_arg_block(&launch, x, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &offset, sizeof offset);
    cbk_rt_arg_value(&launch, &value, sizeof value);
    return cbk_rt_launch(small->stream, &launch);
}

static cbk_status launch_add(struct test_small *small, struct cbk_rt_kernel *kernel,
                             struct cbk_rt_block *x, struct cbk_rt_block *y, uint64_t count,
                             int32_t value) {
    struct cbk_rt_launch launch = launch_over(kernel, "add", count);
    const uint64_t x_offset = cbk_rt_block_offset(x) / sizeof(int32_t);
    const uint64_t y_offset = cbk_rt_block_offset(y) / sizeof(int32_t);
    cbk_rt_arg_block(&launch, x, CBK_RT_READ);
    cbk_rt_arg_value(&launch, &x_offset, sizeof x_offset);
    cbk_rt_arg_block(&launch, y, CBK_RT_WRITE);
    cbk_rt_arg_value(&launch, &y_offset, sizeof y_offset);
    cbk_rt_arg_value(&launch, &value, sizeof value);
    return cbk_rt_launch(small->stream, &launch);
}

cbk_status test_small_add(struct test_small *small, struct cbk_rt_block *x, struct cbk_rt_block *y,
                          uint64_t count, int32_t value) {
    return launch_add(small, small->add, x, y, count, value);
}

cbk_status test_small_slow_add(struct test_small *small, struct cbk_rt_block *x,
                               struct cbk_rt_block *y, uint64_t count, int32_t value) {
    return launch_add(small, small->slow_add, x, y, count, value);
}

cbk_status test_small_look_up(struct test_small *small, struct cbk_rt_block *x, uint64_t count,
                              int64_t index, const char *operation) {
    struct cbk_rt_launch launch = launch_over(small->look_up, operation, 1);
    const uint64_t offset = cbk_rt_block_offset(x) / sizeof(int32_t);
    const int64_t length = (int64_t)count;
    cbk_rt_arg_block(&launch, x, CBK_RT_READ_WRITE);
    cbk_rt_arg_value(&launch, &offset, sizeof offset);
    cbk_rt_arg_value(&launch, &length, sizeof length);
    cbk_rt_arg_value(&launch, &index, sizeof index);
    cbk_rt_arg_index_flag(small->stream, &launch);
    return cbk_rt_launch(small->stream, &launch);
}

void test_small_expect(struct test_small *small, struct cbk_rt_block *x, uint64_t count,
                       int32_t value) {
    int32_t *data = malloc((size_t)count * sizeof *data);
    assert_non_null(data);
    const struct cbk_rt_read read = {.block = x, .data = data, .size_bytes = count * sizeof *data};
    assert_ok(cbk_rt_read(small->stream, &read, 1));
    uint64_t wrong = 0;
    while (wrong < count && data[wrong] == value) wrong++;
    if (wrong < count) {
        print_error("element %llu is %d instead of %d\n", (unsigned long long)wrong,
                    (int)data[wrong], (int)value);
    }
    free(data);
    assert_int_equal(wrong, count);
}
