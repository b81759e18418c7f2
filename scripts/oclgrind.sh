#!/bin/sh
# Runs a row or a few for every kernel, in both forms, on Oclgrind: no access out of bounds, no data
# race, no misuse of the API. Each tensor has a buffer of its own, so that its ends are seen.
#
#   scripts/oclgrind.sh [suite]...
#
# Environment: CUBEBACK_BUILD_DIR (build/full), with the tests built; OCLGRIND (the program) and
# OCLGRIND_OPTIONS. --uninitialized is not among the defaults: up to release 21.10 a partial write of
# a buffer makes Oclgrind forget the rest of it. Rows that update in any order are left out: Oclgrind
# takes the first look of a compare-and-exchange loop for a race.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

build=${CUBEBACK_BUILD_DIR:-build/full}
oclgrind=${OCLGRIND:-oclgrind}
options=${OCLGRIND_OPTIONS:---data-races}
has_program "$oclgrind" || fail "$oclgrind is not installed"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/cubeback-oclgrind.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
export CUBEBACK_TEST_DEVICE=Oclgrind CUBEBACK_CACHE_DIR= CUBEBACK_LOG=debug

# Suites, one row in how many, and parts of rows' names. Lengths that Oclgrind ends in seconds.
rows() {
    cat <<'ROWS'
ops_unary 25
ops_activation 25
ops_binary 30
ops_compare 20
ops_ternary 16
ops_cast 14
ops_create 14 fill|eye|length 333|length 400|length 1000|length 1023
ops_move 30
ops_large 1 copy f32[3,128,192]
ops_diagonal 14
ops_reduce 10 f32|i32|bool
ops_statistics 30
ops_softmax 1 softmax f32[17,33]|softmax f16[3,5,70]|log_softmax bf16[3,3001]
ops_norm 1 norm f32[2,3,4,5]|norm_backward f32[2,3,4,5]|batch_norm f64[3,16,4,4]|rms_norm f64[1000]
ops_scan 1 cumsum f32[33,40]|cumsum bf16[3,4100]|cummax f32[3,2048]|cumprod i32[700,17]
ops_sort 1 topk f32[7,48]|argsort f32[7,48]|sort f32[3,64,5]|sort i16[3,2049]|median f32[7,48]|quantile f32[7,48]
ops_compact 1 argwhere f32[67,41]|mask_select f32[67,41]|mask_select i8[3,4,5,6]
ops_index 16
ops_index_more 20 embedding_backward f64|gather_nd|one_hot|scatter_nd|select
ops_grid_sample 20
ops_random 14 uniform|normal|bernoulli|integer
ops_random 1 categorical f32[7]|categorical f32[3,65]|categorical f32[2,3,1000]
ops_linalg 1 f32 random offset 3 2|f32 dominant contiguous 3 6 6
ops_matmul 1 matmul f32[3,16,24]|matmul f32[1,300]|matmul f32[130,70]|matmul i8[33,65]|matmul bf16[21,1]|matmul f32[2,3,9,5]
ROWS
}

faults=
note_fault() {
    say "$1"
    faults="$faults
  $1"
}

run_rows() {
    suite=$1 form=$2 one_in=$3 parts=$4
    program=$build/tests/test_$suite
    [ -x "$program" ] || fail "$program is not built"
    : >"$scratch/log"
    begin=$(date +%s)
    status=0
    CUBEBACK_TEST_FORMS="$form separate" CUBEBACK_TEST_ONE_IN=$one_in CUBEBACK_TEST_CASE=$parts \
        "$oclgrind" --log "$scratch/log" --max-errors 20 $options \
        --build-options "-cl-opt-disable -D__builtin_prefetch(...)=" \
        "$program" >"$scratch/output" 2>&1 || status=$?
    count=$(grep -ac '^\[       OK \]' "$scratch/output") || true
    say "$suite $form: $count rows, $(($(date +%s) - begin)) s"
    if [ -s "$scratch/log" ]; then
        cat "$scratch/log"
        note_fault "$suite $form: reports of Oclgrind"
    elif [ "$status" != 0 ] || [ "$count" = 0 ]; then
        tail -n 20 "$scratch/output"
        note_fault "$suite $form: status $status"
    fi
    sed -n 's/^program .*: kernel \([a-z_0-9]*\)$/\1/p' "$scratch/output" >>"$scratch/kernels"
}

rows >"$scratch/rows"
while read -r suite one_in parts; do
    [ $# = 0 ] || case " $* " in *" $suite "*) ;; *) continue ;; esac
    run_rows "$suite" gpu "$one_in" "$parts" </dev/null
    run_rows "$suite" cpu "$one_in" "$parts" </dev/null
done <"$scratch/rows"

# Every kernel must have run; those in PTX run on NVIDIA alone, about atomics see above, and merged
# launches are made by graphs, whose suites take Oclgrind hours.
if [ $# = 0 ]; then
    for kernel in $(cat kernels/*.cl | tr '\n' ' ' |
        grep -oE 'kernel (__attribute__\(\([^;]{1,60}\)\) )?void [a-z_0-9]+\(' |
        sed 's/.*void //; s/($//' | sort -u); do
        case $kernel in scatter_atomic | merged_run) continue ;; esac
        grep -qx "$kernel" "$scratch/kernels" || note_fault "kernel $kernel was not run"
    done
fi

[ -z "$faults" ] || fail "Faults:$faults"
say "No reports"
