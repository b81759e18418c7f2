#!/bin/sh
# Compiles every program of a list with clang, without a device.
#
#   kernels-check.sh CLANG LIST_PROGRAM TEXT_DIRECTORY WORK_DIRECTORY
#
# LIST_PROGRAM prints one program a line: the stem of a text in TEXT_DIRECTORY and its defines.
# Programs that hold inline PTX (-DNVIDIA...) are compiled for nvptx64, all others for spir64. A
# struct that is a kernel's argument must not have padding at its end: some drivers (rusticl of Mesa
# 22.3) do not count it.
set -eu
clang=$1 list=$2 texts=$3 work=$4
jobs=${CUBEBACK_JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}

mkdir -p "$work"
"$list" | sort -u >"$work/programs.txt"
: >"$work/failures.txt"

# One program: $1 clang, $2 texts, $3 work, $4 the line.
cat >"$work/one.sh" <<'ONE'
clang=$1 texts=$2 work=$3
set -f
set -- $4
stem=$1
shift
case " $* " in
*NVIDIA* | *PTX*)
    target=nvptx64-nvidia-nvcl
    set -- -Dasm=__asm__ -Xclang -cl-ext=+cl_khr_fp16,+cl_khr_fp64 "$@"
    ;;
*) target=spir64-unknown-unknown ;;
esac
if ! log=$("$clang" -x cl -cl-std=CL1.2 --target=$target -fsyntax-only -Wno-unused-value \
    -Werror=implicit-function-declaration -Wpadded "$@" "$texts/$stem.cl" 2>&1); then
    printf '%s %s\n%s\n\n' "$stem" "$*" "$log" >>"$work/failures.txt"
fi
for struct in $(printf '%s\n' "$log" | sed -n "s/.*padding size of '\(struct [a-z_0-9]*\)'.*/\1/p" |
    cut -d' ' -f2); do
    if grep -qE "const struct $struct [a-z_]+([,)]|$)" "$texts/$stem.cl"; then
        printf '%s %s\nan argument has padding at its end: struct %s\n\n' "$stem" "$*" "$struct" \
            >>"$work/failures.txt"
    fi
done
ONE
tr '\n' '\0' <"$work/programs.txt" |
    xargs -0 -P "$jobs" -n 1 sh "$work/one.sh" "$clang" "$texts" "$work"

total=$(wc -l <"$work/programs.txt")
if [ -s "$work/failures.txt" ]; then
    head -n 80 "$work/failures.txt" >&2
    echo "kernels-check: some of $total programs do not compile (all: $work/failures.txt)" >&2
    exit 1
fi
echo "kernels-check: $total programs compile"
