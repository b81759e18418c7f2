#!/bin/sh
# The ABI against what is checked in.
#
#   abi.sh layout SOURCE_DIRECTORY WORK_DIRECTORY CC [OPENCL_INCLUDES]  listed members stay
#   abi.sh listed SOURCE_DIRECTORY WORK_DIRECTORY CC [OPENCL_INCLUDES]  every member is listed
#   abi.sh symbols SOURCE_DIRECTORY WORK_DIRECTORY LIBRARY  the exported names
#
# To take in an append, from the repository's root:
#   tests/abi/abi.sh print . /tmp/abi cc >tests/abi/layout.txt
#   tests/abi/abi.sh declared . /tmp/abi >tests/abi/symbols.txt
set -eu
what=$1 source=$2 work=$3
mkdir -p "$work"

# print_layout CC [OPENCL_INCLUDES]
print_layout() {
    LC_ALL=C awk -f "$source/tests/abi/layout.awk" "$source"/include/cubeback/*.h \
        "$source"/include/cubeback/ops/*.h >"$work/layout-$what.c"
    "$1" -std=c11 -I "$source/include" ${2:+-isystem "$2"} -o "$work/layout-$what" \
        "$work/layout-$what.c"
    "$work/layout-$what"
}

case $what in
declared)
    sed -e 's,//.*,,' -e '/^#/d' "$source"/include/cubeback/*.h \
        "$source"/include/cubeback/ops/*.h | tr '\n' ' ' |
        grep -o 'CBK_API [^;{]*' | grep -o 'cbk_[a-z0-9_]* *(' | tr -d ' (' | LC_ALL=C sort -u
    ;;
print) print_layout "$4" "${5:-}" ;;
layout)
    print_layout "$4" "${5:-}" >"$work/layout.now"
    # A struct may grow at its end; nothing listed may move, change size or go.
    awk '
        NR == FNR { now[$1] = $2 " " $3; next }
        !($1 in now) { print $1 ": is gone"; bad = 1; next }
        NF == 2 && now[$1] + 0 < $2 { print $1 ": shrank from " $2 " to " now[$1]; bad = 1 }
        NF == 3 && now[$1] != $2 " " $3 {
            print $1 ": offset and size were " $2 " " $3 ", are " now[$1]; bad = 1 }
        END { exit bad }' "$work/layout.now" "$source/tests/abi/layout.txt"
    # What is new must lie behind what was there.
    awk '
        { split($1, part, "."); struct = part[1] }
        NR == FNR {
            listed[$1] = 1
            if (NF == 3 && $2 + $3 > end[struct]) end[struct] = $2 + $3
            next }
        NF == 3 && !($1 in listed) && (struct in listed) && $2 < end[struct] {
            print $1 ": is new but not at the end"; bad = 1 }
        END { exit bad }' "$source/tests/abi/layout.txt" "$work/layout.now"
    ;;
listed)
    print_layout "$4" "${5:-}" >"$work/layout.listed"
    if ! diff "$source/tests/abi/layout.txt" "$work/layout.listed" >"$work/layout.diff"; then
        echo "tests/abi/layout.txt (<) does not list the headers' structs as they are (>);"
        echo "an append is taken in by: tests/abi/abi.sh print . /tmp/abi cc >tests/abi/layout.txt"
        cat "$work/layout.diff"
        exit 1
    fi
    ;;
symbols)
    sh "$0" declared "$source" "$work" >"$work/symbols.declared"
    if ! diff "$source/tests/abi/symbols.txt" "$work/symbols.declared" >"$work/symbols.diff"; then
        echo "tests/abi/symbols.txt (<) does not list what the headers declare (>);"
        echo "an append is taken in by: tests/abi/abi.sh declared . /tmp/abi >tests/abi/symbols.txt"
        cat "$work/symbols.diff"
        exit 1
    fi
    nm -D --defined-only "$4" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort \
        >"$work/symbols.now"
    if ! diff "$source/tests/abi/symbols.txt" "$work/symbols.now" >"$work/symbols.diff"; then
        echo "exported names (>) differ from tests/abi/symbols.txt (<):"
        cat "$work/symbols.diff"
        exit 1
    fi
    ;;
esac
