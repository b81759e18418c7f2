/// mock_backend.h: a backend that computes nothing and writes down what it was asked.
#ifndef CUBEBACK_TEST_MOCK_BACKEND_H
#define CUBEBACK_TEST_MOCK_BACKEND_H

#include <cubeback/backend.h>

#define MOCK_MAX_OPS 64

struct mock {
    cbk_vtable vtable; ///< filled by mock_init; change it before mock_open
    cbk_backend *backend;
    cbk_device *device;
    cbk_stream *stream;

    // what is alive
    long devices, streams, storages, graphs, events;
    int destroyed; ///< calls of destroy

    // what was asked
    uint32_t op_count;
    struct {
        cbk_opcode opcode;
        void *input0, *output0; ///< storage handles at the call
        uint32_t params_size;
        unsigned char params[256];
    } ops[MOCK_MAX_OPS];
    uint32_t reads, syncs, allocations;

    // what to answer
    cbk_status execute_status, open_status, stream_status, alloc_status, stop_status;
    int attach; ///< 1 (default): execute attaches storage to outputs
};

/// A zeroed mock with all slots filled.
void mock_init(struct mock *mock);

/// Backend, device, stream. Fails the test if one cannot be made.
void mock_open(struct mock *mock);

/// Releases the three.
void mock_close(struct mock *mock);

#endif
