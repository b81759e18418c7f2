/// kernels_check: prints every program that the OpenCL backend's launchers can name, one a line:
/// the stem of the kernel text and its defines. cmake/kernels-check.sh compiles them all.
#include <stdio.h>

#include "opencl.h"

#define TEXT_CAPACITY 16384

static void print_program(void *user_data, const struct cbk_rt_spec *spec) {
    int *failures = user_data;
    char data[TEXT_CAPACITY] = "";
    struct cbk_rt_text defines = {.data = data, .capacity = sizeof data};

    if (spec->describe) spec->describe(spec, &defines);
    if (defines.size >= defines.capacity) {
        fprintf(stderr, "kernels_check: the defines of a program of %s are too long\n",
                spec->source->name);
        ++*failures;
        return;
    }
    printf("%s%s\n", spec->source->name, data);
}

int main(void) {
    int failures = 0;
    cbk_ocl_each_program(print_program, &failures);
    return failures ? 1 : 0;
}
