#!/bin/sh
# peers.sh PYTHON PEERS BENCH: every case of peers.py is one of cubeback-bench.
set -eu
cases=$(mktemp)
trap 'rm -f "$cases"' EXIT
"$3" --list >"$cases"
unknown=$("$1" "$2" --list | grep -vxF -f "$cases" || true)
[ -z "$unknown" ] || { printf 'not in the bench:\n%s\n' "$unknown" >&2; exit 1; }
