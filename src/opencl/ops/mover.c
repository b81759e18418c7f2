/// mover.c: programs of the kernels that move elements bit for bit.
#include "mover.h"

const char *cbk_ocl_bits_type(uint32_t size) {
    switch (size) {
    case 1:
        return "uchar";
    case 2:
        return "ushort";
    case 4:
        return "uint";
    case 8:
        return "ulong";
    default:
        return "uint4";
    }
}

static void describe(const struct cbk_rt_spec *spec, struct cbk_rt_text *defines) {
    const struct cbk_ocl_mover *mover = spec->context;
    cbk_rt_text_add(defines, " -DE=%s -DINDEX=%s", cbk_ocl_bits_type(mover->element_size),
                    mover->has_index64 ? "long" : "int");
    if (mover->is_gpu)
        cbk_rt_text_add(defines, " -DGPU_FORM");
    else
        cbk_rt_text_add(defines, " -DV=%d", mover->element_size == 8 ? 8 : 16);
}

struct cbk_rt_spec cbk_ocl_mover_spec(const struct cbk_rt_source *source, const char *entry,
                                      const struct cbk_ocl_mover *mover) {
    return (struct cbk_rt_spec){.source = source,
                                .entry = entry,
                                .key = {(uint64_t)mover->element_size |
                                            (uint64_t)mover->is_gpu << 8 |
                                            (uint64_t)mover->has_index64 << 9,
                                        0},
                                .describe = describe,
                                .context = mover};
}

int64_t cbk_ocl_move_items(const struct cbk_rt_caps *caps, int64_t bytes) {
    return cbk_ocl_clamp(bytes / (2 * CBK_OCL_MOVE_PIECE), 1, 16 * (int64_t)caps->compute_units);
}

void cbk_ocl_mover_programs(const struct cbk_rt_source *source, const char *entry,
                            cbk_ocl_program_visitor visit, void *user_data) {
    for (uint32_t size = 1; size <= 16; size *= 2) {
        for (int form = size == 16; form < 3; form++) {
            const struct cbk_ocl_mover mover = {size, form > 0, form != 1};
            const struct cbk_rt_spec spec = cbk_ocl_mover_spec(source, entry, &mover);
            visit(user_data, &spec);
        }
    }
}
