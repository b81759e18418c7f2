# common.sh: what the scripts share. Sourced by sh from the repository's root.

say() { printf '%s\n' "$*"; }
fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# ---- what must be there ------------------------------------------------------------------------

compiler() {
    for candidate in "${CC:-cc}" gcc clang; do
        if command -v "$candidate" >/dev/null 2>&1; then
            printf '%s' "$candidate"
            return
        fi
    done
    printf 'cc'
}
has_program() { command -v "$1" >/dev/null 2>&1; }
has_header() { printf '#include <%s>\n' "$1" | "$(compiler)" -E - >/dev/null 2>&1; }
has_cmocka() {
    printf '#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <cmocka.h>\n' |
        "$(compiler)" -E - >/dev/null 2>&1
}
has_opencl() {
    printf '#include <CL/cl.h>\nint main(void) { return clGetPlatformIDs(0, 0, 0) == 1; }\n' |
        "$(compiler)" -x c - -o /dev/null -lOpenCL >/dev/null 2>&1
}
has_vendor() { ls "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}" 2>/dev/null | grep -q "$1"; }

# is_there NAME: whether one requirement is met. Each has a name, a test, a Debian package and a
# description.
is_there() {
    case $1 in
    cc) has_program "$(compiler)" ;;
    cxx) has_program c++ ;;
    cmake) has_program cmake ;;
    make) has_program ninja || has_program make ;;
    pkg-config) has_program pkg-config ;;
    opencl) has_opencl ;;
    clblast) has_header clblast_c.h ;;
    cmocka) has_cmocka ;;
    zlib) has_header zlib.h ;;
    jansson) has_header jansson.h ;;
    pocl) has_vendor pocl ;;
    driver) has_vendor '\.icd$' ;;
    clang) has_program clang || ls /usr/bin/clang-[0-9]* >/dev/null 2>&1 ;;
    fashion-mnist) [ -e /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz ] ;;
    esac
}
packages_of() {
    case $1 in
    cc) say gcc libc6-dev ;;
    cxx) say g++ ;;
    make) say ninja-build ;;
    opencl) say ocl-icd-opencl-dev opencl-headers ;;
    clblast) say libclblast-dev ;;
    cmocka) say libcmocka-dev ;;
    zlib) say zlib1g-dev ;;
    jansson) say libjansson-dev ;;
    pocl | driver) say pocl-opencl-icd ;;
    fashion-mnist) say dataset-fashion-mnist ;;
    *) say "$1" ;;
    esac
}
describe() {
    case $1 in
    cc) say "a C11 compiler" ;;
    cxx) say "a C++17 compiler" ;;
    cmake) say "CMake 3.20 or later" ;;
    make) say "ninja or make" ;;
    pkg-config) say "pkg-config" ;;
    opencl) say "the OpenCL headers and loader" ;;
    clblast) say "CLBlast with its C header" ;;
    cmocka) say "cmocka" ;;
    zlib) say "zlib's header" ;;
    jansson) say "jansson" ;;
    pocl) say "PoCL, the OpenCL device that every test can use" ;;
    driver) say "an OpenCL driver (PoCL serves any CPU)" ;;
    clang) say "clang" ;;
    fashion-mnist) say "the Fashion-MNIST images" ;;
    esac
}

missing() {
    for name in "$@"; do
        is_there "$name" || printf '%s ' "$name"
    done
}

# need_all NAME...: installs what is missing where apt-get can be used, else stops with a list.
need_all() {
    absent=$(missing "$@")
    [ -n "$absent" ] || return 0
    install_packages $absent
    absent=$(missing "$@")
    [ -n "$absent" ] || return 0
    {
        say "Missing here, please install:"
        for name in $absent; do
            say "  $(describe "$name")  (Debian, Ubuntu: $(packages_of "$name"))"
        done
    } >&2
    exit 1
}

# want NAME...: the same, but what stays missing is only told.
want() {
    absent=$(missing "$@")
    [ -n "$absent" ] || return 0
    install_packages $absent
    for name in $(missing "$@"); do
        say "Note: without $(describe "$name") (Debian, Ubuntu: $(packages_of "$name")) a part is left out."
    done
}

install_packages() {
    has_program apt-get || return 0
    root=
    if [ "$(id -u)" != 0 ]; then
        has_program sudo && sudo -n true 2>/dev/null || return 0
        root="sudo -n"
    fi
    packages=
    for name in "$@"; do
        packages="$packages $(packages_of "$name")"
    done
    say "Installing$packages"
    log=$(mktemp)
    if [ -z "${apt_updated:-}" ]; then
        $root apt-get update -qq >"$log" 2>&1 || true
        apt_updated=1
    fi
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        $packages >"$log" 2>&1 || { tail -n 5 "$log" >&2; }
    rm -f "$log"
}

# unpack_packages DIRECTORY: installs the Debian packages that lie there, for machines that reach no
# mirror, and tells the loader of NVIDIA's OpenCL.
unpack_packages() {
    ls "$1"/*.deb >/dev/null 2>&1 || return 0
    for package in "$1"/*.deb; do
        # dpkg -x would put a directory in the place of a /lib that is a link.
        dpkg --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C /
    done
    ldconfig
    mkdir -p /etc/OpenCL/vendors
    echo libnvidia-opencl.so.1 >/etc/OpenCL/vendors/nvidia.icd
}

# ---- building ----------------------------------------------------------------------------------

jobs() { printf '%s' "${CUBEBACK_JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}"; }

# build DIRECTORY [CMake option]...: configures and builds; says only what goes wrong.
build() {
    directory=$1
    shift
    set -- -S . -B "$directory" "$@"
    if [ ! -e "$directory/CMakeCache.txt" ]; then
        has_program ninja && set -- "$@" -G Ninja
        has_program ccache && set -- "$@" -D CMAKE_C_COMPILER_LAUNCHER=ccache
    fi
    mkdir -p "$directory"
    log=$directory/build.log
    say "Building in $directory"
    if ! { cmake "$@" && cmake --build "$directory" --parallel "$(jobs)"; } >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        fail "The build failed; its whole log is $log"
    fi
    grep -E 'warning:' "$log" || true
}
