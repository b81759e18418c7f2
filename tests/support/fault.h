/// fault.h: makes the nth OpenCL call or host allocation fail, and counts what is still held.
///
/// Everything is per process: one test at a time. Functions may be called from any thread.
#ifndef CUBEBACK_TESTS_FAULT_H
#define CUBEBACK_TESTS_FAULT_H

#include <stdbool.h>

#include "cl.h"

// ---- OpenCL calls ----------------------------------------------------------------------------

enum cbk_fault_kind {
    CBK_FAULT_CONTEXT,
    CBK_FAULT_QUEUE,
    CBK_FAULT_MEM,
    CBK_FAULT_PROGRAM,
    CBK_FAULT_KERNEL,
    CBK_FAULT_EVENT,
    CBK_FAULT_MAP,
    CBK_FAULT_KINDS
};

/// A table whose functions count, fail on demand, and else call the loader's.
void cbk_fault_table(struct cbk_rt_cl *out);

/// Devices found from now on say that they are GPUs: transfers then go through pinned memory, and
/// buffers are moved to the device when they are made.
void cbk_fault_pretend_gpu(bool pretend);

/// Starts counting at 0, with no failure planned. Counts of held objects go on.
void cbk_fault_reset(void);

/// The nth call from now (from 1) fails with `code` and does nothing; only calls of `function` count
/// unless it is NULL. Releases never fail. 0: none does.
void cbk_fault_plan(uint64_t nth, cl_int code, const char *function);

/// The next number to try after n: all of them with CUBEBACK_TEST_FULL, else a sample of the larger.
uint64_t cbk_fault_next(uint64_t n);

/// Work enqueued on `queue` from now on is reported to have failed with `state` (negative) once it
/// has ended, by the events that are made meanwhile. NULL ends it; events made until then stay so.
void cbk_fault_break(cl_command_queue queue, cl_int state);

/// Calls that count, since the last plan or reset.
uint64_t cbk_fault_calls(void);

/// The function that was made to fail since the last plan or reset, NULL if none was.
const char *cbk_fault_fired(void);

/// References held of a kind: made and retained minus released.
long cbk_fault_held(enum cbk_fault_kind kind);

/// "" or a list such as "2 mem, 1 event" of what is held.
const char *cbk_fault_leaks(void);

/// Objects that a failed test has left do not count any more.
void cbk_fault_forget(void);

// ---- host memory -----------------------------------------------------------------------------

/// Hooks for cbk_backend_params: the nth allocation from now fails; 0: none does.
void *cbk_fault_allocate(void *user_data, size_t size, size_t alignment);
void cbk_fault_free(void *user_data, void *memory, size_t size);
void cbk_fault_plan_allocation(uint64_t nth);
/// Allocations since the last plan.
uint64_t cbk_fault_allocations(void);
/// True if an allocation was made to fail since the last plan.
bool cbk_fault_allocation_fired(void);
/// Allocations not freed.
long cbk_fault_blocks_held(void);
/// What a failed test has left does not count any more.
void cbk_fault_forget_blocks(void);
/// Frees whose size was not the allocation's.
long cbk_fault_wrong_sizes(void);

#endif
