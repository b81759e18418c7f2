#!/bin/sh
# Builds and runs programs that use the library as other projects do.
#
#   consumer.sh find_package|add_subdirectory|pkg_config SOURCE BUILD WORK GENERATOR CC CXX
#
# BUILD is installed under WORK and moved once before it is used.
set -eu
what=$1 source=$2 build=$3 work=$4 generator=$5 cc=$6 cxx=$7
project=$source/tests/consumer/project

rm -rf "$work"
mkdir -p "$work"
install_moved() {
    cmake --install "$build" --prefix "$work/first" >"$work/install.log"
    mv "$work/first" "$work/prefix"
}
configure_and_build() {
    cmake -S "$project" -B "$work/build" -G "$generator" -D CMAKE_BUILD_TYPE=Release \
        -D CMAKE_C_COMPILER="$cc" -D CMAKE_CXX_COMPILER="$cxx" "$@"
    cmake --build "$work/build" --parallel 2
}
run_all() {
    count=0
    for program in "$work"/build/consumer_*; do
        [ -f "$program" ] && [ -x "$program" ] || continue
        "$program"
        count=$((count + 1))
    done
    [ "$count" -ge 2 ]
}

case $what in
find_package)
    install_moved
    configure_and_build -D CMAKE_PREFIX_PATH="$work/prefix"
    run_all
    ;;
add_subdirectory)
    launcher=
    ! command -v ccache >/dev/null 2>&1 || launcher=-DCMAKE_C_COMPILER_LAUNCHER=ccache
    configure_and_build -D CONSUMER_SOURCE="$source" $launcher
    run_all
    ;;
pkg_config)
    command -v pkg-config >/dev/null 2>&1 || exit 77
    install_moved
    pc=$(find "$work/prefix" -name cubeback.pc)
    export PKG_CONFIG_PATH="${pc%/cubeback.pc}"
    libraries=${pc%/pkgconfig/cubeback.pc}
    mkdir "$work/build"
    # shellcheck disable=SC2046
    {
        "$cc" -std=c11 "$project/main.c" -o "$work/build/consumer_c" \
            $(pkg-config --cflags --libs cubeback) -Wl,-rpath,"$libraries"
        "$cxx" -std=c++17 "$project/main.cpp" -o "$work/build/consumer_cpp" \
            $(pkg-config --cflags --libs cubeback) -Wl,-rpath,"$libraries"
        if [ -e "$libraries/libcubeback.a" ]; then
            "$cc" -std=c11 "$project/main.c" -o "$work/build/consumer_static" \
                $(pkg-config --static --cflags --libs cubeback |
                    sed 's/-lcubeback/-l:libcubeback.a/')
        fi
    }
    run_all
    ;;
esac
