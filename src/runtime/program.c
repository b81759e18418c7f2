/// program.c: from a spec to the stream's kernel object.
///
/// The stream's own table answers nearly always and takes no lock. Behind it stands the device's
/// map of programs: the first thread that asks for one builds it outside the map's lock, others
/// that ask for the same one wait, those that ask for another do not.
#include "program.h"

#include <string.h>

struct cbk_rt_kernel_slot {
    const struct cbk_rt_source *source;
    const char *entry;
    uint64_t key[2];
    struct cbk_rt_kernel *kernel; ///< NULL: free
};

enum { FIRST_CAPACITY = 64 };

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t x = (a ^ b) * 0x9e3779b97f4a7c15u;
    return x ^ x >> 32;
}

static uint64_t hash_program(const struct cbk_rt_source *source, const uint64_t key[2]) {
    return mix(mix((uint64_t)(uintptr_t)source, key[0]), key[1]);
}

// ---- the device's map --------------------------------------------------------------------------

/// Finds or adds the map's entry. Under the mutex. NULL without host memory.
static struct cbk_rt_program *find_program(struct cbk_rt *rt, struct cbk_rt_programs *programs,
                                           const struct cbk_rt_spec *spec) {
    struct cbk_rt_program **bucket =
        &programs->buckets[hash_program(spec->source, spec->key) % CBK_RT_PROGRAM_BUCKETS];
    for (struct cbk_rt_program *p = *bucket; p; p = p->next_in_bucket) {
        if (p->source == spec->source && p->key[0] == spec->key[0] && p->key[1] == spec->key[1]) {
            return p;
        }
    }

    struct cbk_rt_program *program = cbk_rt_host_alloc(rt, sizeof *program);
    if (!program) return NULL;
    program->source = spec->source;
    program->key[0] = spec->key[0];
    program->key[1] = spec->key[1];
    program->cache_key.rt = rt;
    program->failure.rt = rt;
    program->next_in_bucket = *bucket;
    *bucket = program;
    if (programs->last) {
        atomic_store_explicit(&programs->last->next, program, memory_order_release);
    } else {
        atomic_store_explicit(&programs->first, program, memory_order_release);
    }
    programs->last = program;
    return program;
}

/// Gives the program, built. One thread builds, the others wait for that entry; when the build
/// failed for a passing reason the next one that waits tries again.
static cbk_status ready_program(struct cbk_rt_device *device, const struct cbk_rt_spec *spec,
                                struct cbk_rt_program **out) {
    struct cbk_rt_programs *programs = device->programs;

    cbk_os_lock(&programs->mutex);
    struct cbk_rt_program *program = find_program(device->rt, programs, spec);
    while (program && program->state == CBK_RT_PROGRAM_BUILDING) {
        cbk_os_wait(&programs->built, &programs->mutex);
    }
    const enum cbk_rt_program_state state = program ? program->state : CBK_RT_PROGRAM_EMPTY;
    if (program && state == CBK_RT_PROGRAM_EMPTY) program->state = CBK_RT_PROGRAM_BUILDING;
    cbk_os_unlock(&programs->mutex);

    if (!program) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for program %s",
                        spec->source->name);
    }
    *out = program;
    if (state == CBK_RT_PROGRAM_READY) {
        CBK_ASSERT(cbk_rt_program_agrees(program, spec));
        return CBK_OK;
    }
    if (state == CBK_RT_PROGRAM_FAILED) return cbk_rt_program_repeat_failure(device, program);

    bool is_final = false;
    cbk_status status = cbk_rt_program_build(device, spec, program, &is_final);
    cbk_os_lock(&programs->mutex);
    program->state = status == CBK_OK ? CBK_RT_PROGRAM_READY
                     : is_final       ? CBK_RT_PROGRAM_FAILED
                                      : CBK_RT_PROGRAM_EMPTY;
    cbk_os_wake_all(&programs->built);
    cbk_os_unlock(&programs->mutex);
    return status;
}

// ---- the stream's table ------------------------------------------------------------------------

static inline struct cbk_rt_kernel_slot *find_slot(const struct cbk_rt_kernels *kernels,
                                                   const struct cbk_rt_spec *spec) {
    const uint32_t mask = kernels->capacity - 1;
    uint64_t hash = mix(hash_program(spec->source, spec->key), (uint64_t)(uintptr_t)spec->entry);
    for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
        struct cbk_rt_kernel_slot *slot = &kernels->slots[i];
        if (!slot->kernel) return slot;
        if (slot->entry == spec->entry && slot->source == spec->source &&
            slot->key[0] == spec->key[0] && slot->key[1] == spec->key[1]) {
            return slot;
        }
    }
}

static struct cbk_rt_spec spec_of(const struct cbk_rt_kernel_slot *slot) {
    return (struct cbk_rt_spec){
        .source = slot->source, .entry = slot->entry, .key = {slot->key[0], slot->key[1]}};
}

/// Makes room for one more slot.
static cbk_status grow(struct cbk_rt *rt, struct cbk_rt_kernels *kernels) {
    if (2 * (kernels->count + 1) <= kernels->capacity) return CBK_OK;
    struct cbk_rt_kernels larger = *kernels;
    larger.capacity = kernels->capacity ? 2 * kernels->capacity : FIRST_CAPACITY;
    larger.slots = cbk_rt_host_alloc(rt, larger.capacity * sizeof *larger.slots);
    if (!larger.slots) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for %u kernels",
                        (unsigned)larger.capacity);
    }
    for (uint32_t i = 0; i < kernels->capacity; i++) {
        if (!kernels->slots[i].kernel) continue;
        struct cbk_rt_spec spec = spec_of(&kernels->slots[i]);
        *find_slot(&larger, &spec) = kernels->slots[i];
    }
    if (kernels->slots) {
        cbk_rt_host_free(rt, kernels->slots, kernels->capacity * sizeof *kernels->slots);
    }
    *kernels = larger;
    return CBK_OK;
}

/// The kernel object under another address of the same entry text; NULL if there is none.
static struct cbk_rt_kernel *find_by_text(const struct cbk_rt_kernels *kernels,
                                          const struct cbk_rt_program *program, const char *entry) {
    for (struct cbk_rt_kernel *k = kernels->first; k; k = k->next) {
        if (k->program == program && strcmp(k->entry, entry) == 0) return k;
    }
    return NULL;
}

static cbk_status create_kernel(struct cbk_rt_device *device, struct cbk_rt_program *program,
                                const char *entry, struct cbk_rt_kernel **out) {
    const struct cbk_rt_cl *cl = device->cl;
    struct cbk_rt_kernel *kernel = NULL;
    size_t max_work_group = 0;
    cl_int code = CL_SUCCESS;
    cbk_status status = CBK_OK;

    kernel = cbk_rt_host_alloc(device->rt, sizeof *kernel);
    if (!kernel) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for kernel %s", entry);
    }
    kernel->handle = cl->clCreateKernel(program->handle, entry, &code);
    if (code == CL_INVALID_KERNEL_NAME) {
        status = cbk_fail(CBK_ERROR_BUILD, code, "program %s has no kernel %s",
                          program->source->name, entry);
        goto done;
    }
    if (code != CL_SUCCESS) {
        status = cbk_rt_cl_fail(device, code, "clCreateKernel");
        goto done;
    }
    CL_TRY(device,
           cl->clGetKernelWorkGroupInfo(kernel->handle, device->id, CL_KERNEL_WORK_GROUP_SIZE,
                                        sizeof max_work_group, &max_work_group, NULL));
    kernel->program = program;
    kernel->entry = entry;
    kernel->max_work_group = (uint32_t)max_work_group;
    cbk_rt_log(device->rt, CBK_LOG_DEBUG, "program %s: kernel %s", program->source->name, entry);
    *out = kernel;
    kernel = NULL;
done:
    if (kernel) {
        if (kernel->handle) (void)cl->clReleaseKernel(kernel->handle);
        cbk_rt_host_free(device->rt, kernel, sizeof *kernel);
    }
    return status;
}

static cbk_status miss(struct cbk_rt_stream *stream, const struct cbk_rt_spec *spec,
                       struct cbk_rt_kernel **out) {
    struct cbk_rt_device *device = stream->device;
    struct cbk_rt_kernels *kernels = &stream->kernels;
    struct cbk_rt_program *program = NULL;
    struct cbk_rt_kernel *kernel = NULL;
    cbk_status status = CBK_OK;

    RT_TRY(cbk_rt_device_check(device));
    RT_TRY(grow(device->rt, kernels));
    RT_TRY(ready_program(device, spec, &program));
    kernel = find_by_text(kernels, program, spec->entry);
    if (!kernel) {
        RT_TRY(create_kernel(device, program, spec->entry, &kernel));
        kernel->next = kernels->first;
        kernels->first = kernel;
    }
    *find_slot(kernels, spec) = (struct cbk_rt_kernel_slot){.source = spec->source,
                                                            .entry = spec->entry,
                                                            .key = {spec->key[0], spec->key[1]},
                                                            .kernel = kernel};
    kernels->count++;
    *out = kernel;
done:
    return status;
}

cbk_status cbk_rt_kernel(struct cbk_rt_stream *stream, const struct cbk_rt_spec *spec,
                         struct cbk_rt_kernel **out) {
    if (stream->kernels.capacity > 0) {
        struct cbk_rt_kernel *kernel = find_slot(&stream->kernels, spec)->kernel;
        if (kernel) {
            CBK_ASSERT(cbk_rt_program_agrees(kernel->program, spec));
            *out = kernel;
            return CBK_OK;
        }
    }
    *out = NULL;
    return miss(stream, spec, out);
}

uint32_t cbk_rt_kernel_max_work_group(const struct cbk_rt_kernel *kernel) {
    return kernel->max_work_group;
}

void cbk_rt_kernels_finish(struct cbk_rt *rt, struct cbk_rt_kernels *kernels) {
    for (struct cbk_rt_kernel *k = kernels->first, *next; k; k = next) {
        next = k->next;
        (void)rt->cl.clReleaseKernel(k->handle);
        cbk_rt_host_free(rt, k, sizeof *k);
    }
    if (kernels->slots) {
        cbk_rt_host_free(rt, kernels->slots, kernels->capacity * sizeof *kernels->slots);
    }
    *kernels = (struct cbk_rt_kernels){0};
}
