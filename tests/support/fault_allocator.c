/// fault_allocator.c: the host memory hooks of fault.h. Each piece carries its size in front, and
/// damage behind a piece is left to the sanitizers.
#include "fault.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { HEADER_SIZE = 64 };

static atomic_ullong allocations;
static atomic_ullong planned;
static atomic_bool fired;
static atomic_long held;
static atomic_long wrong_sizes;

void *cbk_fault_allocate(void *user_data, size_t size, size_t alignment) {
    (void)user_data;
    (void)alignment;
    if (atomic_fetch_add(&allocations, 1) + 1 == atomic_load(&planned)) {
        atomic_store(&fired, true);
        return NULL;
    }
    const size_t rounded = (size + 2 * HEADER_SIZE - 1) / HEADER_SIZE * HEADER_SIZE;
    unsigned char *memory = aligned_alloc(HEADER_SIZE, rounded);
    if (!memory) return NULL;
    *(size_t *)(void *)memory = size;
    atomic_fetch_add(&held, 1);
    return memory + HEADER_SIZE;
}

void cbk_fault_free(void *user_data, void *memory, size_t size) {
    (void)user_data;
    unsigned char *start = (unsigned char *)memory - HEADER_SIZE;
    if (*(size_t *)(void *)start != size) atomic_fetch_add(&wrong_sizes, 1);
    atomic_fetch_sub(&held, 1);
    free(start);
}

void cbk_fault_plan_allocation(uint64_t nth) {
    atomic_store(&planned, 0);
    atomic_store(&allocations, 0);
    atomic_store(&fired, false);
    atomic_store(&planned, nth);
}

uint64_t cbk_fault_allocations(void) {
    return atomic_load(&allocations);
}

bool cbk_fault_allocation_fired(void) {
    return atomic_load(&fired);
}

long cbk_fault_blocks_held(void) {
    return atomic_load(&held);
}

long cbk_fault_wrong_sizes(void) {
    return atomic_load(&wrong_sizes);
}

void cbk_fault_forget_blocks(void) {
    atomic_store(&held, 0);
    atomic_store(&wrong_sizes, 0);
}
