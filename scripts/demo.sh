#!/bin/sh
# Installs what is missing, builds, and trains a classifier on Fashion-MNIST. Asks nothing; may be
# run again at any time. Arguments go to the example: scripts/demo.sh --epochs 3 --device cpu
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

need_all cmake cc make opencl zlib driver
want clblast
case " $* " in
*" --data "* | *" --data="*) ;;
*) need_all fashion-mnist ;;
esac

directory=${CUBEBACK_BUILD_DIR:-build/release}
build "$directory" -D CMAKE_BUILD_TYPE=Release -D CUBEBACK_TESTS=OFF -D CUBEBACK_EXAMPLES=ON
exec "$directory/examples/train_fashion" "$@"
