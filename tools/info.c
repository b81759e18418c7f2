/// cubeback-info: platforms, devices, and what each device does with each dtype.
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cubeback/cubeback.h>

#ifdef CUBEBACK_JSON
#include <jansson.h>
#endif

static const char help[] = "Usage: cubeback-info [--json]\n"
                           "Lists OpenCL devices, best first, with the usage of each dtype:\n"
                           "S stored and converted, A computed with, M used by a matrix unit.\n";

static const cbk_dtype dtypes[] = {
    CBK_DTYPE_F64,    CBK_DTYPE_F32,    CBK_DTYPE_F16,        CBK_DTYPE_BF16, CBK_DTYPE_FLEX32,
    CBK_DTYPE_F8E4M3, CBK_DTYPE_F8E5M2, CBK_DTYPE_I64,        CBK_DTYPE_I32,  CBK_DTYPE_I16,
    CBK_DTYPE_I8,     CBK_DTYPE_U64,    CBK_DTYPE_U32,        CBK_DTYPE_U16,  CBK_DTYPE_U8,
    CBK_DTYPE_BOOL,   CBK_DTYPE_BOOL32, CBK_DTYPE_BOOL_NATIVE};
#define DTYPE_COUNT (sizeof dtypes / sizeof *dtypes)

static const char *type_name(uint32_t type) {
    return type == CBK_DEVICE_GPU ? "gpu" : type == CBK_DEVICE_CPU ? "cpu" : "accelerator";
}

/// What one device says; usage is empty when it cannot be opened.
struct entry {
    cbk_device_info info;
    bool opened;
    char reason[CBK_ERROR_MESSAGE_SIZE];
    uint32_t usage[DTYPE_COUNT];
};

static bool describe(cbk_backend *backend, uint32_t index, struct entry *out) {
    cbk_device *device = NULL;
    *out = (struct entry){.info = CBK_INIT(cbk_device_info)};
    if (cbk_device_describe(backend, CBK_DEVICE_DEFAULT, index, &out->info) != CBK_OK) return false;
    cbk_device_params params =
        CBK_INIT(cbk_device_params, .type = out->info.type, .index = out->info.index);
    out->opened = cbk_device_open(backend, &params, &device) == CBK_OK;
    if (!out->opened) snprintf(out->reason, sizeof out->reason, "%s", cbk_last_error_message());
    for (size_t d = 0; out->opened && d < DTYPE_COUNT; d++)
        if (cbk_dtype_usage(device, dtypes[d], NULL, &out->usage[d]) != CBK_OK) out->usage[d] = 0;
    cbk_device_release(&device);
    return true;
}

static void print_text(const struct entry *entry, uint32_t index) {
    const cbk_device_info *info = &entry->info;
    printf("device %u: %s\n", index, info->name);
    printf("  type            %s\n", type_name(info->type));
    printf("  platform        %s\n", info->platform);
    printf("  vendor          %s\n", info->vendor);
    printf("  driver          %s (%s)\n", info->driver, info->version);
    printf("  compute units   %u\n", info->compute_units);
    printf("  memory          %.1f GiB, largest buffer %.1f GiB, local %.0f KiB\n",
           (double)info->memory_bytes / (1 << 30), (double)info->max_allocation_bytes / (1 << 30),
           (double)info->local_memory_bytes / 1024);
    printf("  work-group      up to %u\n", info->max_work_group);
    if (!entry->opened) {
        printf("  cannot be opened: %s\n", entry->reason);
        return;
    }
    printf("  dtypes         ");
    for (size_t d = 0; d < DTYPE_COUNT; d++) {
        uint32_t usage = entry->usage[d];
        printf(" %s:%s%s%s%s", cbk_dtype_name(dtypes[d]), usage & CBK_USAGE_STORAGE ? "S" : "",
               usage & CBK_USAGE_ARITHMETIC ? "A" : "", usage & CBK_USAGE_ACCELERATED ? "M" : "",
               usage == 0 ? "-" : "");
    }
    printf("\n");
}

#ifdef CUBEBACK_JSON
static json_t *usage_to_json(uint32_t usage) {
    json_t *list = json_array();
    if (usage & CBK_USAGE_STORAGE) json_array_append_new(list, json_string("storage"));
    if (usage & CBK_USAGE_ARITHMETIC) json_array_append_new(list, json_string("arithmetic"));
    if (usage & CBK_USAGE_ACCELERATED) json_array_append_new(list, json_string("accelerated"));
    return list;
}

static json_t *to_json(const struct entry *entry) {
    const cbk_device_info *info = &entry->info;
    json_t *usage = json_object();
    for (size_t d = 0; d < DTYPE_COUNT; d++)
        json_object_set_new(usage, cbk_dtype_name(dtypes[d]), usage_to_json(entry->usage[d]));
    json_t *object =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:b,s:o}", "name", info->name,
                  "type", type_name(info->type), "platform", info->platform, "vendor", info->vendor,
                  "driver", info->driver, "version", info->version, "compute_units",
                  (json_int_t)info->compute_units, "memory_bytes", (json_int_t)info->memory_bytes,
                  "max_allocation_bytes", (json_int_t)info->max_allocation_bytes,
                  "local_memory_bytes", (json_int_t)info->local_memory_bytes, "max_work_group",
                  (json_int_t)info->max_work_group, "opened", entry->opened, "dtypes", usage);
    if (object != NULL && !entry->opened)
        json_object_set_new(object, "reason", json_string(entry->reason));
    return object;
}
#endif

static int list_devices(cbk_backend *backend, bool as_json) {
    struct entry entry;
    uint32_t count = 0;
    if (cbk_device_count(backend, CBK_DEVICE_DEFAULT, &count) != CBK_OK) return 1;
#ifdef CUBEBACK_JSON
    json_t *list = json_array();
    for (uint32_t i = 0; as_json && i < count; i++)
        if (describe(backend, i, &entry)) json_array_append_new(list, to_json(&entry));
    if (as_json) {
        json_t *root = json_pack("{s:s,s:o}", "library", CBK_VERSION_STRING, "devices", list);
        int failed = root == NULL || json_dumpf(root, stdout, JSON_INDENT(2)) != 0;
        printf("\n");
        json_decref(root);
        return failed;
    }
    json_decref(list);
#else
    (void)as_json;
#endif
    printf("libcubeback %s, %u OpenCL device%s\n", CBK_VERSION_STRING, count,
           count == 1 ? "" : "s");
    for (uint32_t i = 0; i < count; i++)
        if (describe(backend, i, &entry)) print_text(&entry, i);
    return 0;
}

int main(int argc, char **argv) {
    static const struct option list[] = {{"json", 0, NULL, 'j'}, {"help", 0, NULL, 'h'}, {0}};
    cbk_backend *backend = NULL;
    bool as_json = false;
    for (int c; (c = getopt_long(argc, argv, "", list, NULL)) != -1;) {
        if (c == 'h') return fputs(help, stdout) < 0;
        if (c != 'j') return fputs(help, stderr), 2;
        as_json = true;
    }
#ifndef CUBEBACK_JSON
    if (as_json) return fputs("cubeback-info: built without jansson, no --json\n", stderr), 2;
#endif
    int result = cbk_opencl_create(NULL, &backend) == CBK_OK ? list_devices(backend, as_json) : 1;
    if (result != 0) fprintf(stderr, "cubeback-info: %s\n", cbk_last_error_message());
    cbk_backend_release(&backend);
    return result;
}
