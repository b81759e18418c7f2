/// objects.h: what the opaque handles of cubeback.h are.
///
/// Every object starts with a tag that tells its type, and a reference count. A child holds one
/// reference of its parent: tensor -> storage -> device -> backend; graph, event -> stream ->
/// device. Counts are atomic; everything else is set before the handle is given out, except where
/// a member says so.
#ifndef CUBEBACK_CORE_OBJECTS_H
#define CUBEBACK_CORE_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <cubeback/backend.h>

enum {
    CBK_TAG_BACKEND = 0x4b424243,
    CBK_TAG_DEVICE = 0x44424243,
    CBK_TAG_STREAM = 0x53424243,
    CBK_TAG_TENSOR = 0x54424243,
    CBK_TAG_GRAPH = 0x47424243,
    CBK_TAG_EVENT = 0x45424243,
    CBK_TAG_PROGRAM = 0x50424243,
    CBK_TAG_DEAD = 0x58424243
};

struct cbk_object {
    uint32_t tag;
    atomic_uint references;
};

struct cbk_backend {
    struct cbk_object object;
    cbk_vtable vtable; ///< slots past the given struct_size are NULL
    void *self;
    cbk_allocate_function allocate; ///< NULL: malloc
    cbk_free_function free;
    void *allocator_user_data;
};

struct cbk_device {
    struct cbk_object object;
    cbk_backend *backend;
    void *handle;
    atomic_uint default_float, default_int, default_bool;
    atomic_bool started;    ///< an operation ran: the defaults are fixed
    atomic_bool has_failed; ///< enqueued work did: storages have to be asked about
    atomic_ullong stream_count;
};

/// One capture, shared by its graph and the storages made in it, whose contents come with the first
/// replay.
struct cbk_capture {
    atomic_uint references;
    atomic_bool was_replayed;
};

struct cbk_stream {
    struct cbk_object object;
    cbk_device *device;
    void *handle;
    struct cbk_capture *capture; ///< in progress, or NULL. The stream's thread only
    uint32_t persistent_depth;   ///< of cbk_persistent_begin. The stream's thread only
};

struct cbk_graph {
    struct cbk_object object;
    cbk_stream *stream;
    void *handle;
    struct cbk_capture *capture;
};

struct cbk_event {
    struct cbk_object object;
    cbk_stream *stream;
    void *handle; ///< NULL: the backend has no events and the point has passed
};

/// Why a storage's contents are unusable.
struct cbk_poison {
    struct cbk_poison *former; ///< of contents that were written anew since
    cbk_status status;
    char text[512];
};

/// Counted apart from tensors, since views share it. It lies in front of the tensor it was made
/// with, in one allocation that lives as long as the storage.
struct cbk_storage {
    atomic_uint references;
    atomic_bool poisoned;
    cbk_device *device;
    _Atomic(void *) handle;              ///< the backend's; NULL while none is attached
    struct cbk_capture *capture;         ///< the one it was made in, or NULL
    _Atomic(struct cbk_poison *) poison; ///< the newest reason; all live as long as the storage
    cbk_quant *quant;                    ///< of its tensor; NULL unless that is quantized
};

struct cbk_tensor {
    struct cbk_object object;
    uint32_t is_view; ///< 1: an allocation of its own; 0: lies behind its storage
    cbk_tensor_meta meta;
    struct cbk_storage *storage; ///< never NULL
};

struct cbk_storage_and_tensor {
    struct cbk_storage storage;
    struct cbk_tensor tensor;
};

// ---- counting -----------------------------------------------------------------------------------

static inline void cbk_object_init(struct cbk_object *object, uint32_t tag) {
    object->tag = tag;
    atomic_init(&object->references, 1);
}

static inline void cbk_object_retain(struct cbk_object *object) {
    atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
}

/// True if that was the last reference; the object may then be freed.
static inline bool cbk_count_drop(atomic_uint *references) {
    return atomic_fetch_sub_explicit(references, 1, memory_order_acq_rel) == 1;
}

static inline bool cbk_object_drop(struct cbk_object *object) {
    if (!cbk_count_drop(&object->references)) return false;
    object->tag = CBK_TAG_DEAD;
    return true;
}

/// True for a live handle of the type; NULL and other handles give false.
static inline bool cbk_object_is(const void *handle, uint32_t tag) {
    return handle != NULL && ((const struct cbk_object *)handle)->tag == tag;
}

// ---- host memory --------------------------------------------------------------------------------

/// Memory from the backend's host allocator, 16-byte aligned, not zeroed. Fails with
/// CBK_ERROR_OUT_OF_HOST_MEMORY noted in the error record and returns NULL.
void *cbk_core_alloc(const cbk_backend *backend, size_t size);
void cbk_core_free(const cbk_backend *backend, void *memory, size_t size);

#endif
