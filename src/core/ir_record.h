/// ir_record.h: a recording in progress, and the recorder around it.
///
/// What a tensor is to a recording is told by its storage and its metadata, not by its handle: the
/// recording holds no references, so donation and memory stay as they are without it. The recorder
/// sees every storage go (storage_free) and forgets it before its handle can come again.
#ifndef CUBEBACK_CORE_IR_RECORD_H
#define CUBEBACK_CORE_IR_RECORD_H

#include "ir_program.h"

/// What the recording knows of a buffer of the program.
struct cbk_ir_place {
    void *storage;        ///< NULL once it is gone. Under the lock
    uint32_t next;        ///< in its hash bucket. Under the lock
    uint32_t first_value; ///< of the list of its values
    uint32_t named_input; ///< value that stands for it in every run, or CBK_IR_NONE
    cbk_tensor_meta root; ///< what the storage was made for
};

/// What the recording knows of a value.
struct cbk_ir_note {
    uint32_t next;        ///< value of the same buffer
    uint32_t result_step; ///< the last step that wrote it, or CBK_IR_NONE
    uint32_t is_read;     ///< since then
};

/// An error of the stream that reading contents brought up: it belongs to the caller's next look.
struct cbk_ir_deferred {
    cbk_status status;
    char reason[CBK_ERROR_MESSAGE_SIZE];
};

struct cbk_ir_recording {
    cbk_ir_program *program;
    const cbk_vtable *inner;
    void *self, *stream; ///< the inner backend's
    atomic_flag *lock;   ///< the recorder's
    uint32_t flags;
    uint64_t contents_left;
    struct cbk_ir_place *places; ///< beside program->buffers
    struct cbk_ir_note *notes;   ///< beside program->values
    uint32_t place_capacity, note_capacity;
    uint32_t *buckets; ///< by storage. Under the lock
    uint32_t bucket_count;
    bool random_is_known; ///< the program has the state of the next draw. Under the lock
    atomic_int failed;    ///< a cbk_status: why there will be no program. Set under the lock
    char reason[CBK_ERROR_MESSAGE_SIZE];
    struct cbk_ir_deferred *deferred; ///< the stream's
};

/// Taken for a few instructions, and only while something is recorded.
static inline void cbk_ir_lock(atomic_flag *lock) {
    while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire)) continue;
}
static inline void cbk_ir_unlock(atomic_flag *lock) {
    atomic_flag_clear_explicit(lock, memory_order_release);
}

cbk_status cbk_ir_recording_create(const cbk_ir_record_params *params, const cbk_vtable *inner,
                                   void *self, void *stream, atomic_flag *lock,
                                   struct cbk_ir_deferred *deferred, struct cbk_ir_recording **out);
void cbk_ir_recording_destroy(struct cbk_ir_recording **recording);

/// Under the lock: there will be no program. Keeps the first reason.
void cbk_ir_recording_fail(struct cbk_ir_recording *recording, cbk_status status,
                           const char *reason);

/// Notes an operation in two halves: what it reads, before it runs; what it made, after.
/// `values` has room for its inputs and outputs.
cbk_status cbk_ir_note_before(struct cbk_ir_recording *recording, const cbk_op *op,
                              uint32_t *values, uint32_t *out_made);
cbk_status cbk_ir_note_after(struct cbk_ir_recording *recording, const cbk_op *op, uint32_t *values,
                             uint32_t made);

/// Notes host memory that went to a tensor, if the recording knows the tensor's storage.
cbk_status cbk_ir_note_write(struct cbk_ir_recording *recording, const cbk_tensor *tensor,
                             const void *data);

/// Under the lock: the buffer of a storage, or CBK_IR_NONE.
uint32_t cbk_ir_find_storage(const struct cbk_ir_recording *recording, const void *storage);
/// Under the lock: the storage is about to go.
void cbk_ir_forget_storage(struct cbk_ir_recording *recording, const void *storage);

/// The value that a tensor with elements is, or CBK_IR_NONE.
uint32_t cbk_ir_known_value(const struct cbk_ir_recording *recording, const cbk_tensor *tensor);

/// Every output is a tensor of the recording.
cbk_status cbk_ir_check_outputs(const struct cbk_ir_recording *recording,
                                const cbk_tensor *const *outputs, uint32_t count);

/// Names outputs, which are checked, settles inputs, checks the whole. The program is the caller's.
cbk_status cbk_ir_recording_finish(struct cbk_ir_recording *recording,
                                   const cbk_tensor *const *outputs, uint32_t count,
                                   cbk_ir_program **out);

#endif
