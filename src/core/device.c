// device.c: enumerating, opening and asking devices.
#include "core.h"

#include "rows.h"

#include <string.h>

// ---- enumeration --------------------------------------------------------------------------------

static cbk_status check_type(uint32_t type) {
    if (type <= CBK_DEVICE_ACCELERATOR) return CBK_OK;
    return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "device type %u is unknown", (unsigned)type);
}

cbk_status cbk_device_count(cbk_backend *backend, uint32_t type, uint32_t *out_count) {
    struct cbk_call former = cbk_call_begin("device_count", CBK_OP_NONE);
    cbk_status status = cbk_check_backend(backend);
    if (status == CBK_OK) status = check_type(type);
    if (status == CBK_OK && out_count == NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "out_count is NULL");
    }
    if (status == CBK_OK) {
        *out_count = 0;
        status = backend->vtable.device_count(backend->self, type, out_count);
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_device_describe(cbk_backend *backend, uint32_t type, uint32_t index,
                               cbk_device_info *out) {
    struct cbk_call former = cbk_call_begin("device_describe", CBK_OP_NONE);
    cbk_device_info info = {.struct_size = sizeof info};
    cbk_status status = cbk_check_backend(backend);
    if (status == CBK_OK) status = check_type(type);
    if (status == CBK_OK) {
        status = backend->vtable.device_describe(backend->self, type, index, &info);
    }
    if (status == CBK_OK) {
        status = cbk_write_struct(&info, (uint32_t)sizeof info, "cbk_device_info", out);
    }
    return cbk_call_end(former, status);
}

// ---- opening ------------------------------------------------------------------------------------

static cbk_status check_defaults(cbk_dtype default_float, cbk_dtype default_int,
                                 cbk_dtype default_bool) {
    cbk_status status = CBK_OK;
    if (default_float != CBK_DTYPE_NONE) {
        status = cbk_infer_dtype_in(default_float, CBK_FLOATS, "default_float");
    }
    if (status == CBK_OK && default_int != CBK_DTYPE_NONE) {
        status = cbk_infer_dtype_in(default_int, CBK_INTS, "default_int");
    }
    if (status == CBK_OK && default_bool != CBK_DTYPE_NONE) {
        status = cbk_infer_dtype_in(default_bool, CBK_BOOLS, "default_bool");
    }
    return status;
}

cbk_status cbk_device_make(cbk_backend *backend, const cbk_device_params *given, void *handle,
                           cbk_device **out) {
    cbk_device_params params = {.struct_size = sizeof params};
    cbk_status status = cbk_check_out(out);
    if (status == CBK_OK) status = cbk_check_backend(backend);
    if (status == CBK_OK) {
        status = cbk_read_struct(given, "cbk_device_params", &params, (uint32_t)sizeof params);
    }
    if (status == CBK_OK) status = check_type(params.type);
    if (status == CBK_OK) {
        status = check_defaults(params.default_float, params.default_int, params.default_bool);
    }
    if (status != CBK_OK) return status;
    if (params.flags != 0) {
        return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "flags %u are unknown",
                        (unsigned)params.flags);
    }
    if (params.default_float == CBK_DTYPE_NONE) params.default_float = CBK_DTYPE_F32;
    if (params.default_int == CBK_DTYPE_NONE) params.default_int = CBK_DTYPE_I64;
    if (params.default_bool == CBK_DTYPE_NONE) params.default_bool = CBK_DTYPE_BOOL;

    cbk_device *device = cbk_core_alloc(backend, sizeof *device);
    if (device == NULL) return CBK_ERROR_OUT_OF_HOST_MEMORY;
    cbk_object_init(&device->object, CBK_TAG_DEVICE);
    device->handle = handle;
    atomic_init(&device->default_float, params.default_float);
    atomic_init(&device->default_int, params.default_int);
    atomic_init(&device->default_bool, params.default_bool);
    atomic_init(&device->started, false);
    atomic_init(&device->has_failed, false);
    atomic_init(&device->stream_count, 0);
    if (handle == NULL) {
        status = backend->vtable.device_open(backend->self, &params, &device->handle);
    }
    if (status != CBK_OK) {
        cbk_core_free(backend, device, sizeof *device);
        return status;
    }
    device->backend = cbk_backend_retain(backend);
    *out = device;
    return CBK_OK;
}

cbk_status cbk_device_open(cbk_backend *backend, const cbk_device_params *params,
                           cbk_device **out) {
    struct cbk_call former = cbk_call_begin("device_open", CBK_OP_NONE);
    return cbk_call_end(former, cbk_device_make(backend, params, NULL, out));
}

// ---- asking -------------------------------------------------------------------------------------

cbk_backend *cbk_device_backend(const cbk_device *device) {
    return cbk_object_is(device, CBK_TAG_DEVICE) ? device->backend : NULL;
}

void *cbk_device_handle(const cbk_device *device) {
    return cbk_object_is(device, CBK_TAG_DEVICE) ? device->handle : NULL;
}

cbk_status cbk_device_get_info(const cbk_device *device, cbk_device_info *out) {
    struct cbk_call former = cbk_call_begin("device_get_info", CBK_OP_NONE);
    cbk_device_info info = {.struct_size = sizeof info};
    cbk_status status = cbk_check_device(device);
    if (status == CBK_OK) {
        status =
            cbk_device_vtable(device)->device_info(device->backend->self, device->handle, &info);
    }
    if (status == CBK_OK) {
        status = cbk_write_struct(&info, (uint32_t)sizeof info, "cbk_device_info", out);
    }
    return cbk_call_end(former, status);
}

cbk_status cbk_device_state(const cbk_device *device) {
    struct cbk_call former = cbk_call_begin("device_state", CBK_OP_NONE);
    cbk_status status = cbk_check_device(device);
    if (status == CBK_OK && cbk_device_vtable(device)->device_state != NULL) {
        status = cbk_device_vtable(device)->device_state(device->backend->self, device->handle);
    }
    return cbk_call_end(former, status);
}

const char *cbk_device_build_log(const cbk_device *device) {
    if (!cbk_object_is(device, CBK_TAG_DEVICE)) return "";
    const cbk_vtable *vtable = cbk_device_vtable(device);
    if (vtable->device_build_log == NULL) return "";
    const char *text = vtable->device_build_log(device->backend->self, device->handle);
    return text != NULL ? text : "";
}

// ---- dtypes -------------------------------------------------------------------------------------

cbk_status cbk_device_set_defaults(cbk_device *device, cbk_dtype default_float,
                                   cbk_dtype default_int, cbk_dtype default_bool) {
    struct cbk_call former = cbk_call_begin("device_set_defaults", CBK_OP_NONE);
    cbk_status status = cbk_check_device(device);
    if (status == CBK_OK) status = check_defaults(default_float, default_int, default_bool);
    if (status == CBK_OK && atomic_load(&device->started)) {
        status = cbk_fail(CBK_ERROR_INVALID_STATE, 0,
                          "the device has run an operation; defaults are fixed from then on");
    }
    if (status == CBK_OK) {
        if (default_float != CBK_DTYPE_NONE) atomic_store(&device->default_float, default_float);
        if (default_int != CBK_DTYPE_NONE) atomic_store(&device->default_int, default_int);
        if (default_bool != CBK_DTYPE_NONE) atomic_store(&device->default_bool, default_bool);
    }
    return cbk_call_end(former, status);
}

cbk_dtype cbk_device_default_dtype(const cbk_device *device, cbk_dtype kind) {
    if (!cbk_object_is(device, CBK_TAG_DEVICE)) return CBK_DTYPE_NONE;
    if (cbk_dtype_in(kind, CBK_FLOATS)) return atomic_load(&device->default_float);
    if (cbk_dtype_in(kind, CBK_INTS)) return atomic_load(&device->default_int);
    if (cbk_dtype_in(kind, CBK_BOOLS)) return atomic_load(&device->default_bool);
    return CBK_DTYPE_NONE;
}

static cbk_status get_usage(cbk_device *device, cbk_dtype dtype, const cbk_quant *given,
                            uint32_t *out_usage) {
    cbk_quant quant = {.struct_size = sizeof quant};
    *out_usage = 0;
    if (dtype == CBK_DTYPE_BOOL_NATIVE) return CBK_OK; // a name, never usable
    if (dtype == CBK_DTYPE_QUANT) {
        if (given == NULL) {
            return cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "dtype quant comes without a cbk_quant");
        }
        cbk_status status = cbk_read_struct(given, "cbk_quant", &quant, (uint32_t)sizeof quant);
        if (status == CBK_OK) status = cbk_quant_check(&quant);
        if (status != CBK_OK) return status;
    } else if (cbk_dtype_size(dtype) == 0) {
        return cbk_fail(CBK_ERROR_DTYPE, 0, "dtype %u is unknown", (unsigned)dtype);
    }
    return cbk_device_vtable(device)->dtype_usage(device->backend->self, device->handle, dtype,
                                                  dtype == CBK_DTYPE_QUANT ? &quant : NULL,
                                                  out_usage);
}

cbk_status cbk_dtype_usage(cbk_device *device, cbk_dtype dtype, const cbk_quant *quant,
                           uint32_t *out_usage) {
    struct cbk_call former = cbk_call_begin("dtype_usage", CBK_OP_NONE);
    cbk_status status = cbk_check_device(device);
    if (status == CBK_OK && out_usage == NULL) {
        status = cbk_fail(CBK_ERROR_INVALID_ARGUMENT, 0, "out_usage is NULL");
    }
    if (status == CBK_OK) status = get_usage(device, dtype, quant, out_usage);
    return cbk_call_end(former, status);
}

static cbk_status supports_dtype(cbk_device *device, cbk_dtype dtype) {
    const cbk_vtable *vtable = cbk_device_vtable(device);
    uint32_t usage = 0, needed = CBK_USAGE_STORAGE | CBK_USAGE_ARITHMETIC;
    if (dtype == CBK_DTYPE_QUANT || dtype == CBK_DTYPE_BOOL_NATIVE) {
        return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "dtype %s is not computed with as it is",
                        cbk_dtype_name(dtype));
    }
    if (cbk_dtype_size(dtype) != 0 && vtable->supports_dtype != NULL) {
        return vtable->supports_dtype(device->backend->self, device->handle, dtype);
    }
    cbk_status status = get_usage(device, dtype, NULL, &usage);
    if (status != CBK_OK) return status;
    // These are converted on their way in and out; bools have no arithmetic.
    const uint64_t converted =
        CBK_BIT(CBK_DTYPE_F16) | CBK_BIT(CBK_DTYPE_BF16) | CBK_SMALL_FLOATS | CBK_BOOLS;
    if (cbk_dtype_in(dtype, converted)) needed = CBK_USAGE_STORAGE;
    if ((usage & needed) == needed) return CBK_OK;
    return cbk_fail(CBK_ERROR_UNSUPPORTED, 0, "%s has usage %u on this device, %u is needed",
                    cbk_dtype_name(dtype), (unsigned)usage, (unsigned)needed);
}

cbk_status cbk_supports_dtype(cbk_device *device, cbk_dtype dtype) {
    struct cbk_call former = cbk_call_begin("supports_dtype", CBK_OP_NONE);
    cbk_status status = cbk_check_device(device);
    if (status == CBK_OK) status = supports_dtype(device, dtype);
    return cbk_call_end(former, status);
}

cbk_status cbk_seed(cbk_device *device, uint64_t seed) {
    struct cbk_call former = cbk_call_begin("seed", CBK_OP_NONE);
    cbk_status status = cbk_check_device(device);
    if (status == CBK_OK) {
        const cbk_vtable *vtable = cbk_device_vtable(device);
        status = vtable->seed != NULL ? vtable->seed(device->backend->self, device->handle, seed)
                                      : cbk_fail_unsupported(device->backend, "seed");
    }
    return cbk_call_end(former, status);
}
