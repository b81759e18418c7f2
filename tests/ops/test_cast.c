// test_cast.c: every dtype to a rotating choice of others (all pairs in full mode).

#include "runner.h"

#include <stdio.h>

int main(void) {
    struct test_list list = {0};
    uint32_t total = 0;
    while (test_all_dtypes[total]) total++;
    for (uint32_t from = 0; from < total; from++) {
        for (uint32_t step = 0; step < total; step++) {
            // From f32 to all, from all to f32, and for the others every eighth.
            cbk_dtype source = test_all_dtypes[from],
                      target = test_all_dtypes[(from + step) % total];
            bool is_chosen = test_is_full() || source == CBK_DTYPE_F32 || target == CBK_DTYPE_F32 ||
                             step % 8 == from % 8;
            if (!is_chosen) continue;
            struct test_spec spec = {.opcode = CBK_OP_CAST, .input_count = 1};
            spec.inputs[0].dtype = source;
            test_set_params(&spec, cast, .dtype = target);
            spec.tolerance = test_ulps(target, 0, 0);
            spec.tolerance.signed_zero = test_is_float(source) && test_is_float(target);
            char suffix[24];
            snprintf(suffix, sizeof suffix, "to %s", cbk_dtype_name(target));
            test_add_pointwise(&list, &spec, from + step, source == target, suffix);
        }
    }
    return test_run_list("cast", &list);
}
