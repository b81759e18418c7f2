#!/bin/bash
# Tests and measures on a machine with a GPU, inside nine minutes.
#
#   scripts/device.sh [bench filter]...
#
# Where .dev holds Debian packages (for machines that reach no mirror) they are unpacked first.
# Every ops suite runs on the device whose name holds $CUBEBACK_TEST_DEVICE (NVIDIA), then the
# bench cases that match the filters. Logs go to $OUT where that is set.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/common.sh

limit_s=${CUBEBACK_DEVICE_LIMIT:-540}
SECONDS=0
left() { echo $((limit_s - SECONDS)); }
logs=${OUT:-build/device/logs}
mkdir -p "$logs"
export CUBEBACK_TEST_DEVICE=${CUBEBACK_TEST_DEVICE:-NVIDIA}

unpack_packages .dev

build build/device -D CMAKE_BUILD_TYPE=Release -D CUBEBACK_TESTS=ON -D CUBEBACK_BENCH=ON \
    -D CUBEBACK_TOOLS=ON || exit 1
say "built after $SECONDS s"
build/device/tools/cubeback-info >"$logs/info.txt" 2>&1
head -n 40 "$logs/info.txt"

# Every suite at once, a process each.
suites=${CUBEBACK_DEVICE_SUITES:-build/device/tests/test_ops_*}
budget=$(($(left) - 30))
[ $# -gt 0 ] && budget=$((budget * 2 / 3))
declare -A pid
for suite in $suites; do
    [ -x "$suite" ] || continue
    name=${suite##*/test_}
    CUBEBACK_CACHE_DIR= timeout "$budget" "$suite" >"$logs/$name.log" 2>&1 &
    pid[$name]=$!
done
failed=0
printf '%-28s %8s %8s %8s\n' suite passed failed status
for name in $(printf '%s\n' "${!pid[@]}" | sort); do
    wait "${pid[$name]}"
    status=$?
    [ $status = 0 ] || failed=$((failed + 1))
    passed_rows=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test(s).*/\1/p' "$logs/$name.log" | tail -n 1)
    failed_rows=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test(s).*/\1/p' "$logs/$name.log" | tail -n 1)
    [ $status = 124 ] && status=timeout
    printf '%-28s %8s %8s %8s\n' "$name" "${passed_rows:-?}" "${failed_rows:-0}" "$status"
done
for name in "${!pid[@]}"; do
    grep -hE '^\[  FAILED  \] [^0-9]|error|Error' "$logs/$name.log" | head -n 6
done
say "suites done after $SECONDS s, $failed failed"

for filter in "$@"; do
    [ "$(left)" -gt 20 ] || { say "no time left for bench $filter"; break; }
    json=()
    if is_there jansson; then
        json=(--json "$logs/bench-$(printf '%s' "$filter" | tr -c 'A-Za-z0-9_\n' '-').json")
    fi
    timeout "$(($(left) - 10))" build/device/bench/cubeback-bench \
        --device "$CUBEBACK_TEST_DEVICE" --filter "$filter" "${json[@]}" 2>&1 | tail -n 40
done
say "all done after $SECONDS s"
[ "$failed" = 0 ]
