/// ulp_functions.h: the functions that cubeback-ulp runs, and what docs/numerics.md allows them.
#ifndef CUBEBACK_ULP_FUNCTIONS_H
#define CUBEBACK_ULP_FUNCTIONS_H

#include <stdbool.h>

#include <cubeback/opcodes.h>

struct ulp_function {
    const char *name;
    cbk_opcode opcode;
    double (*one)(double);
    double (*two)(double, double); ///< instead of `one`
    double ulps;                   ///< allowed
    bool rounded_on_cpus;          ///< there 0.5
    double flushed;                ///< or this many of the smallest normal number
    double of_unit, of_input;      ///< or these many units roundoff, absolute and times |x|
    bool has_params;
    uint32_t variant;
};

extern const struct ulp_function ulp_functions[];
extern const uint32_t ulp_function_count;

#endif
