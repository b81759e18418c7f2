#!/bin/sh
# Installs what is missing, builds, and runs the tests. Asks nothing; may be run again at any time.
#
#   scripts/test.sh [ctest argument]...     e.g. scripts/test.sh -L ops, scripts/test.sh -R reduce
#
# Environment: CC; CUBEBACK_BUILD_DIR (build/test); CUBEBACK_JOBS (all cores, for building);
# CUBEBACK_CMAKE_ARGS (more options for CMake); CUBEBACK_TEST_FULL=1 for the larger samples.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

need_all cmake cc make opencl cmocka pocl
want clblast zlib cxx pkg-config jansson

directory=${CUBEBACK_BUILD_DIR:-build/test}
# shellcheck disable=SC2086
build "$directory" -D CMAKE_BUILD_TYPE=RelWithDebInfo -D CUBEBACK_ASSERTS=ON -D CUBEBACK_TESTS=ON \
    ${CUBEBACK_CMAKE_ARGS:-}

# Kernels are compiled afresh in every run, once for all tests.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/cubeback-test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
export POCL_CACHE_DIR="$scratch/pocl" CUBEBACK_TEST_STATS="$scratch/stats"
mkdir "$POCL_CACHE_DIR"
: >"$CUBEBACK_TEST_STATS"

begin=$(date +%s)
{
    status=0
    (cd "$directory" && ctest -j2 --output-on-failure "$@") || status=$?
    echo "$status" >"$scratch/status"
} | tee "$scratch/output"
status=$(cat "$scratch/status")
end=$(date +%s)

say
awk '$1 == "programs" { programs += $2; ns += $4 } END {
    printf "%d kernel programs built, %.1f s spent on that\n", programs, ns / 1e9 }' \
    "$CUBEBACK_TEST_STATS"
say "$((end - begin)) s for all tests"
awk -f scripts/count-tests.awk "$directory/Testing/Temporary/LastTest.log" "$scratch/output"
exit "$status"
