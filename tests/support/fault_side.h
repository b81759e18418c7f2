/// fault_side.h: a device over a function table that fails on demand, for suites of it.
#ifndef CUBEBACK_TESTS_FAULT_SIDE_H
#define CUBEBACK_TESTS_FAULT_SIDE_H

#include <cubeback/cubeback.h>

#include "fault.h"

struct cbk_fault_side {
    cbk_backend *backend;
    cbk_device *device;
    cbk_stream *stream, *other;
};

/// For cmocka's setup: what an earlier test left when it failed says nothing about the next.
int cbk_fault_start_afresh(void **state);

/// Starts afresh and opens a device over `table` with two streams.
void cbk_fault_open(struct cbk_fault_side *side, const struct cbk_rt_cl *table);
/// Releases it all. Nothing of the driver's or the host's may be held then.
void cbk_fault_close(struct cbk_fault_side *side);

/// The device's figures.
cbk_memory_info cbk_fault_memory(const struct cbk_fault_side *side);

/// Runs an array of tests on devices as they are, and as if they were GPUs. How many failed.
#define CBK_FAULT_RUN(tests)                                                                       \
    (cmocka_run_group_tests_name("as it is", tests, NULL, NULL) +                                  \
     (cbk_fault_pretend_gpu(true), cmocka_run_group_tests_name("as a GPU", tests, NULL, NULL)))

#endif
