// test_operations.c: docs/operations.md and the named functions of ops/*.h are what the op table
// says.
// CUBEBACK_TEST_WRITE=1 writes the page anew.
#include "support.h"

#include <cubeback/backend.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A file of the source tree, which this file's own name leads to.
static void tree_path(const char *name, char *path, size_t size) {
    const char *own = strstr(__FILE__, "tests/unit/");
    assert_non_null(own);
    snprintf(path, size, "%.*s%s", (int)(own - __FILE__), __FILE__, name);
}

static char *read_tree(const char *name) {
    char path[4096];
    tree_path(name, path, sizeof path);
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail_msg("%s cannot be opened", path);
    static char text[1 << 20];
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

static bool headers_declare(const char *function) {
    static const char *const headers[] = {"activation", "binary", "compact", "compare", "create",
                                          "index",      "linalg", "matmul",  "move",    "norm",
                                          "random",     "reduce", "scan",    "select",  "softmax",
                                          "sort",       "unary",  "view"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        char name[64];
        snprintf(name, sizeof name, "include/cubeback/ops/%s.h", headers[i]);
        if (strstr(read_tree(name), function) != NULL) return true;
    }
    return false;
}

static void every_row_has_its_functions(void **state) {
    (void)state;
    uint32_t cursor = 0;
    for (const cbk_op_info *info; (info = cbk_op_next(&cursor)) != NULL;) {
        char name[96];
        snprintf(name, sizeof name, "cbk_%s(", info->name);
        if (!headers_declare(name)) fail_msg("%s is in no header of a family", name);
        snprintf(name, sizeof name, "cbk_%s_into(", info->name);
        const bool is_view = (info->flags & CBK_ROW_VIEW) != 0;
        if (headers_declare(name) == is_view) fail_msg("%s", name);
    }
}

// ---- the page -----------------------------------------------------------------------------------

static const char intro[] =
    "# Operations\n"
    "\n"
    "The op table as it is in `src/core`; a test holds this page to it. What each operation means "
    "is "
    "in\n"
    "`include/cubeback/ops/`, its parameters are in `include/cubeback/opcodes.h`, accuracy is in\n"
    "`numerics.md`.\n"
    "\n"
    "Dtypes are those of the operands that carry data: *floats* f64 f32 f16 bf16 flex32, *ints* "
    "the "
    "eight\n"
    "integer types, *bools* bool and bool32, *8-bit floats* f8e4m3 f8e5m2. Masks are bools, "
    "indices "
    "any\n"
    "integer type. A device may lack f64; `cbk_supports_op` answers for an operation at hand.\n"
    "\n"
    "*In place* says what the result of the `_into` form may be written over: *any input* (exactly "
    "the\n"
    "same view), the *first input*, or nothing (–). Views share their input's memory and have no "
    "`_into`\n"
    "form.\n"
    "\n"
    "Both built-in backends have every operation, and every operation takes every view: any "
    "offset,\n"
    "strides that are 0, negative or overlapping, and size zero. On one device a result has the "
    "same "
    "bits\n"
    "in every run, on every stream, alone or in a graph; only updates that ask for "
    "`CBK_INDEX_UNORDERED`\n"
    "give that up. *Notes*: *draws*: takes random numbers of the stream; *indices*: an index out "
    "of "
    "range\n"
    "comes up at the next sync or read; *outputs*: results, where there are several.\n";

static const char *const families[] = {
    "",
    "Views",
    "Unary",
    "Binary",
    "Binary with a scalar",
    "Comparison",
    "Comparison with a scalar",
    "Selection and bounds",
    "Conversion",
    "Creation",
    "Moves",
    "Reductions",
    "Softmax",
    "Matrix product",
    "Indexing",
    "Random numbers",
    "Gradients of activations",
    [CBK_FAMILY_NORM] = "Normalisation",
    [CBK_FAMILY_COMPACT] = "Compaction",
    [CBK_FAMILY_SCAN] = "Scans",
    [CBK_FAMILY_SORT] = "Sorting",
    [CBK_FAMILY_LINALG] = "Factorisations of matrices",
};

static void append_dtypes(uint64_t dtypes, char *text) {
    static const struct {
        const char *name;
        cbk_dtype member;
    } sets[] = {
        {"floats", CBK_DTYPE_F32},
        {"8-bit floats", CBK_DTYPE_F8E4M3},
        {"ints", CBK_DTYPE_I32},
        {"bools", CBK_DTYPE_BOOL},
    };
    const char *separator = "";
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if ((dtypes >> sets[i].member & 1) == 0) continue;
        strcat(strcat(text, separator), sets[i].name);
        separator = ", ";
    }
}

static const char *in_place(const cbk_op_info *info) {
    if ((info->flags & CBK_ROW_VIEW) != 0) return "view";
    if (info->min_inputs == 0) return "–";
    if ((info->flags & CBK_ROW_POINTWISE) != 0) return "any input";
    return (info->flags & CBK_ROW_UPDATE) != 0 ? "first input" : "–";
}

static void write_notes(const cbk_op_info *info, char *text, size_t size) {
    text[0] = '\0';
    if ((info->flags & CBK_ROW_RANDOM) != 0) snprintf(text, size, "draws");
    if ((info->flags & CBK_ROW_CHECKS_INDICES) != 0) snprintf(text, size, "indices");
    if (info->output_count > 1) snprintf(text, size, "%u outputs", (unsigned)info->output_count);
}

static void make_page(char *page, size_t size) {
    size_t used = (size_t)snprintf(page, size, "%s", intro);
    uint32_t cursor = 0, family = 0;
    for (const cbk_op_info *info; (info = cbk_op_next(&cursor)) != NULL;) {
        char dtypes[96] = "", inputs[16], notes[32];
        if (info->opcode >> 8 != family) {
            family = info->opcode >> 8;
            assert_true(family < sizeof families / sizeof *families);
            used += (size_t)snprintf(page + used, size - used,
                                     "\n## %s\n\n| operation | opcode | inputs | dtypes | in place "
                                     "| notes |\n|---|---|---|---|---|---|\n",
                                     families[family]);
        }
        append_dtypes(info->dtypes, dtypes);
        const char *range = info->min_inputs == info->max_inputs ? "%u"
                            : info->max_inputs == UINT32_MAX     ? "%u or more"
                                                                 : "%u to %u";
        snprintf(inputs, sizeof inputs, range, (unsigned)info->min_inputs,
                 (unsigned)info->max_inputs);
        write_notes(info, notes, sizeof notes);
        used += (size_t)snprintf(page + used, size - used,
                                 "| `%s` | 0x%04x | %s | %s | %s | %s |\n", info->name,
                                 (unsigned)info->opcode, inputs, dtypes, in_place(info), notes);
    }
    assert_true(used < size);
}

static void the_page_is_true(void **state) {
    (void)state;
    static char page[1 << 16];
    make_page(page, sizeof page);
    if (getenv("CUBEBACK_TEST_WRITE") != NULL) {
        char path[4096];
        tree_path("docs/operations.md", path, sizeof path);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fputs(page, file);
        fclose(file);
    }
    if (strcmp(page, read_tree("docs/operations.md")) != 0) {
        fail_msg("docs/operations.md differs from the op table; "
                 "run this test with CUBEBACK_TEST_WRITE=1 and look at the change");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_its_functions),
        cmocka_unit_test(the_page_is_true),
    };
    return cmocka_run_group_tests_name("operations", tests, NULL, NULL);
}
