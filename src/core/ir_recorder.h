/// ir_recorder.h: the recorder's own objects. Devices, storages, events and graphs are the inner
/// backend's handles; streams are wrapped, because a recording belongs to one.
#ifndef CUBEBACK_CORE_IR_RECORDER_H
#define CUBEBACK_CORE_IR_RECORDER_H

#include "ir_record.h"

struct cbk_ir_recorder {
    cbk_backend *backend; ///< the inner one, retained
    const cbk_vtable *inner;
    void *self;                    ///< the inner one's
    atomic_flag lock;              ///< of the list of streams and of what recordings share
    atomic_uint recording_count;   ///< 0: nothing needs to be looked at
    struct cbk_ir_stream *streams; ///< under the lock
};

struct cbk_ir_stream {
    struct cbk_ir_stream *next;
    struct cbk_ir_recorder *recorder;
    void *device, *inner;               ///< the inner backend's
    struct cbk_ir_recording *recording; ///< or NULL. Set under the lock by the stream's thread
    struct cbk_ir_deferred deferred;
};

/// The wrapped stream; NULL for one of another backend.
struct cbk_ir_stream *cbk_ir_stream_of(const cbk_stream *stream);

/// The slots that record (ir_recorder.c).
cbk_status cbk_ir_execute(void *self, void *stream, const cbk_op *op);
cbk_status cbk_ir_write(void *self, void *stream, const cbk_tensor *tensor, const void *data);
cbk_status cbk_ir_read(void *self, void *stream, const cbk_backend_read *requests, uint32_t count);
cbk_status cbk_ir_sync(void *self, void *stream);
cbk_status cbk_ir_flush(void *self, void *stream);
cbk_status cbk_ir_copy_device(void *self, void *from, const cbk_tensor *source, void *to,
                              const cbk_tensor *destination);
void cbk_ir_storage_free(void *self, void *device, void *storage);
cbk_status cbk_ir_seed(void *self, void *device, uint64_t seed);
cbk_status cbk_ir_random_set(void *self, void *stream, const cbk_random_state *state);

/// CBK_ERROR_INVALID_STATE while the stream records.
cbk_status cbk_ir_refuse(const struct cbk_ir_stream *stream, const char *what);

#endif
