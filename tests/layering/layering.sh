#!/bin/sh
# layering.sh SOURCE_DIRECTORY: rules that hold for the whole tree.
set -u
cd "$1" || exit 1
bad=0
# refuse WHAT LINES: fails if there are any.
refuse() {
    [ -n "$2" ] || return 0
    printf '%s:\n%s\n' "$1" "$2"
    bad=1
}

refuse "OpenCL's headers outside src/runtime and include/cubeback/opencl.h" "$(
    grep -rnE '#[[:space:]]*include[[:space:]]*[<"]CL/' src include |
        grep -vE '^(src/runtime/|include/cubeback/opencl\.h:)')"

# A file name used by two layers would hide an include of the wrong one; headers of families are
# always named with their folder.
refuse "headers of the same name in two layers" "$(
    find src include -name '*.h' ! -path 'include/cubeback/ops/*' | sed 's,.*/,,' | sort | uniq -d |
        grep -vE '^(opencl\.h|backend\.h)$')"

refuse "includes by a path into another layer" "$(
    grep -rnE '#[[:space:]]*include[[:space:]]*"\.\./' src include)"

refuse "kernel texts that do not begin by switching contraction off" "$(
    for text in kernels/*.cl; do
        [ -e "$text" ] || continue
        [ "$(head -n 1 "$text")" = '#pragma OPENCL FP_CONTRACT OFF' ] || echo "$text"
    done)"

refuse "variadic macros, which OpenCL C lacks, in kernel texts" "$(
    grep -rnE '#[[:space:]]*define [A-Za-z_0-9]+\([^)]*\.\.\.\)|__VA_ARGS__' kernels)"

refuse "output or an end of the process in the library" "$(
    grep -rnE '\b(printf|puts|putchar|perror|abort|exit|_Exit) *\(' src --include='*.c' --include='*.h' |
        grep -vE '^[^:]*:[0-9]+:[[:space:]]*(//|\*)')"

exit $bad
