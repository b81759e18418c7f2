#!/bin/sh
# Formats the C sources and headers; with --check only lists those that are not.
set -eu
cd "$(dirname "$0")/.."
command -v clang-format >/dev/null 2>&1 || { echo "clang-format is not installed" >&2; exit 1; }
status=0
for file in $(git ls-files '*.c' '*.h' '*.cpp'); do
    if [ "${1:-}" != --check ]; then
        clang-format -i "$file"
    elif ! clang-format "$file" | cmp -s - "$file"; then
        echo "$file"
        status=1
    fi
done
exit $status
