/// os_cpu.c: what the processor can do, for the keys of machine code.
#include <stdio.h>

#include "os.h"

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

/// Only registers that are the same on every core: leaf 1's EBX, for one, holds the core's number.
void cbk_os_cpu_features(char *out, size_t size) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    unsigned model = 0, basic[2] = {0}, structured[4] = {0}, extended[2] = {0};

    if (__get_cpuid(1, &a, &b, &c, &d)) model = a, basic[0] = c, basic[1] = d;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        const unsigned subleaf_count = a;
        structured[0] = b, structured[1] = c, structured[2] = d;
        if (subleaf_count > 0 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) structured[3] = a;
    }
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) extended[0] = c, extended[1] = d;
    // OSXSAVE says that the system lets programs use what the processor has.
    snprintf(out, size, "x86 %08x %08x %08x %08x %08x %08x %08x %08x %08x", model, basic[0],
             basic[1], structured[0], structured[1], structured[2], structured[3], extended[0],
             extended[1]);
}

#elif defined(__linux__)

#include <sys/auxv.h>

void cbk_os_cpu_features(char *out, size_t size) {
    snprintf(out, size, "hwcap %lx %lx", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
}

#else

void cbk_os_cpu_features(char *out, size_t size) {
    if (size > 0) out[0] = 0;
}

#endif
