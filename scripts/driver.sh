#!/bin/sh
# Runs a sample of the suites of operations on another driver than PoCL, each in a process of its own.
#
#   scripts/driver.sh rusticl|intel [suite]...
#
# Environment: CUBEBACK_BUILD_DIR (build/full), with the tests built; OCL_ICD_VENDORS for a driver
# that is not registered with the loader; CUBEBACK_DRIVER_SECONDS, the most that a suite may take.
# Exit status 77 where the driver is not there.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

driver=${1:-}
[ $# = 0 ] || shift
build=${CUBEBACK_BUILD_DIR:-build/full}
seconds=${CUBEBACK_DRIVER_SECONDS:-600}
case $driver in
rusticl)
    export RUSTICL_ENABLE=llvmpipe CUBEBACK_TEST_DEVICE=llvmpipe
    forms=gpu
    ;;
intel)
    export CUBEBACK_TEST_DEVICE='Intel(R) OpenCL'
    forms="cpu gpu"
    ;;
*) fail "usage: scripts/driver.sh rusticl|intel [suite]..." ;;
esac
export CUBEBACK_CACHE_DIR=

# Suites, one row in how many, and parts of rows' names.
all_rows() {
    cat <<'ROWS'
unary 25
activation 40
binary 30
compare 25
ternary 25
cast 6
create 20
diagonal 25
move 30
large 20
index 20
index_more 25
index64 4
compact 20
scan 25
reduce 20
statistics 40
softmax 40
norm 40
sort 40
grid_sample 30
random 10
matmul 60
matmul_epilogue 60
ROWS
}

# Without what crashes the compiler of Mesa 22.3 (docs/drivers.md, arguments that are indexed): cross,
# gather_nd and scatter_nd, and as whole suites cat with the moves, and compaction.
rusticl_rows() {
    all_rows | sed -e 's/^\(diagonal .*\)/\1 diag|tril|triu|eye/' \
        -e 's/^\(index_more .*\)/\1 select|embedding|one_hot/' \
        -e 's/^\(index64 .*\)/\1 cast|neg|add|sum|argmax|matmul|select/' \
        -e '/^move /d' -e '/^compact /d'
}

faults=
run_suite() {
    suite=$1 form=$2 one_in=$3 parts=$4
    program=$build/tests/test_ops_$suite
    [ -x "$program" ] || fail "$program is not built"
    begin=$(date +%s)
    status=0
    CUBEBACK_TEST_FORMS=$form CUBEBACK_TEST_ONE_IN=$one_in CUBEBACK_TEST_CASE=$parts \
        timeout "$seconds" "$program" >"$scratch/output" 2>&1 || status=$?
    count=$(grep -ac '^\[       OK \]' "$scratch/output") || true
    say "$suite $form: $count rows, $(($(date +%s) - begin)) s"
    if [ "$status" != 0 ] || [ "$count" = 0 ]; then
        grep -av -e '^\[       OK' -e '^\[  SKIPPED' "$scratch/output" | tail -n 20
        faults="$faults
  $suite $form: status $status"
    fi
}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/cubeback-driver.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# A suite without rows says whether the device opens.
if ! CUBEBACK_TEST_CASE="no such row" "$build/tests/test_ops_large" >"$scratch/output" 2>&1; then
    grep -a "^device: " "$scratch/output" || cat "$scratch/output"
    say "$driver is not there"
    exit 77
fi

if [ "$driver" = rusticl ]; then rusticl_rows; else all_rows; fi >"$scratch/rows"
while read -r suite one_in parts; do
    [ $# = 0 ] || case " $* " in *" $suite "*) ;; *) continue ;; esac
    for form in $forms; do
        run_suite "$suite" "$form" "$one_in" "$parts" </dev/null
    done
done <"$scratch/rows"

[ -z "$faults" ] || fail "Faults:$faults"
say "No faults on $driver"
