#!/bin/sh
# What does not fit in scripts/test.sh: the same suites with larger samples, then under the
# sanitizers, every kernel through clang, rows for every kernel on Oclgrind, and a sample on other
# drivers, where those are installed. Takes hours.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

need_all cmake cc make opencl cmocka pocl
want clblast zlib cxx pkg-config jansson clang
failures=

step() {
    name=$1
    shift
    say "==== $name"
    "$@" || failures="$failures
  $name"
}

step "larger samples" env CUBEBACK_TEST_FULL=1 CUBEBACK_BUILD_DIR=build/full scripts/test.sh
step "every kernel through clang" cmake --build build/full --target kernels-check
step "address and undefined behaviour" env CUBEBACK_BUILD_DIR=build/full-asan \
    CUBEBACK_CMAKE_ARGS=-DCUBEBACK_SANITIZE=address,undefined scripts/test.sh
step "threads" env CUBEBACK_BUILD_DIR=build/full-tsan \
    CUBEBACK_CMAKE_ARGS=-DCUBEBACK_SANITIZE=thread scripts/test.sh
if has_program oclgrind; then
    step "Oclgrind" env CUBEBACK_BUILD_DIR=build/full scripts/oclgrind.sh
else
    say "Oclgrind is not installed: that step is left out"
fi
for driver in rusticl intel; do
    status=0
    say "==== $driver"
    CUBEBACK_BUILD_DIR=build/full scripts/driver.sh $driver || status=$?
    case $status in
    0) ;;
    77) say "$driver is not installed: that step is left out" ;;
    *) failures="$failures
  $driver" ;;
    esac
done

[ -z "$failures" ] || fail "Failed:$failures"
say "All steps passed"
