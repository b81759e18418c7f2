#!/bin/sh
# Prints the library's times beside NumPy's and PyTorch's, taken on this machine one after the other.
#
#   scripts/compare.sh [--device NAME] [bench filter]...   e.g. scripts/compare.sh softmax sum_rows
#
# Without filters: every case that a peer can do. On a GPU the peer is PyTorch for CUDA. Environment:
# CUBEBACK_PYTHON, a python3 with torch and numpy; without it, and if the python3 that is there has
# none, both are installed into build/python. CUBEBACK_BUILD_DIR (build/bench), CUBEBACK_JOBS (all
# cores). The results stay in $OUT (the build folder).
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

device=
case ${1:-} in
--device)
    device=${2:?"--device wants a name"}
    shift 2
    ;;
--device=*)
    device=${1#*=}
    shift
    ;;
-h | --help)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
filter=$(printf '%s,' "$@")
filter=${filter%,}

has_torch() { "$1" -c 'import torch' >/dev/null 2>&1; }

# find_python: sets `python` to one that has the peers.
find_python() {
    for python in "${CUBEBACK_PYTHON:-build/python/bin/python}" python3; do
        has_torch "$python" && return
    done
    python=build/python/bin/python
    say "Installing NumPy and PyTorch in build/python"
    python3 -m venv build/python
    # PyTorch's default wheel is the one for CUDA; PIP_INDEX_URL may name an index of smaller ones.
    "$python" -m pip install --quiet numpy torch
}

unpack_packages .dev
need_all cmake cc make opencl jansson driver
find_python
[ -n "$filter" ] || filter=$("$python" bench/peers.py --list | paste -s -d , -)

directory=${CUBEBACK_BUILD_DIR:-build/bench}
results=${OUT:-$directory}
build "$directory" -D CMAKE_BUILD_TYPE=Release -D CUBEBACK_TESTS=OFF -D CUBEBACK_BENCH=ON
mkdir -p "$results"

"$directory/bench/cubeback-bench" ${device:+--device "$device"} --filter "$filter" \
    --json "$results/bench.json" || say "Some cases failed"
peer=cpu
grep -q '"type": "gpu"' "$results/bench.json" && peer=cuda
"$python" bench/peers.py --device "$peer" --filter "$filter" --json "$results/peers.json"
say
"$python" bench/compare.py "$results/bench.json" "$results/peers.json" |
    tee "$results/compare.md"
