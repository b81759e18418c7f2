/// fault_side.c: a device over a function table that fails on demand.
#include "fault_side.h"

#include "backend.h"
#include "support.h"

int cbk_fault_start_afresh(void **state) {
    (void)state;
    cbk_fault_reset();
    cbk_fault_break(NULL, 0);
    cbk_fault_plan_allocation(0);
    cbk_fault_forget();
    cbk_fault_forget_blocks();
    return 0;
}

void cbk_fault_open(struct cbk_fault_side *side, const struct cbk_rt_cl *table) {
    const cbk_backend_params params =
        CBK_INIT(cbk_backend_params, .flags = CBK_NO_ENVIRONMENT, .cache_directory = "",
                 .allocate = cbk_fault_allocate, .free = cbk_fault_free);
    (void)cbk_fault_start_afresh(NULL);
    assert_ok(cbk_opencl_create_with(&params, table, &side->backend));
    assert_ok(cbk_device_open(side->backend, NULL, &side->device));
    assert_ok(cbk_stream_create(side->device, NULL, &side->stream));
    assert_ok(cbk_stream_create(side->device, NULL, &side->other));
}

void cbk_fault_close(struct cbk_fault_side *side) {
    cbk_stream_release(&side->other);
    cbk_stream_release(&side->stream);
    cbk_device_release(&side->device);
    cbk_backend_release(&side->backend);
    assert_string_equal(cbk_fault_leaks(), "");
    assert_int_equal(cbk_fault_blocks_held(), 0);
    assert_int_equal(cbk_fault_wrong_sizes(), 0);
}

cbk_memory_info cbk_fault_memory(const struct cbk_fault_side *side) {
    cbk_memory_info info = CBK_INIT(cbk_memory_info);
    assert_ok(cbk_memory_usage(side->device, &info));
    return info;
}
