/// replay.h: what the parts of cubeback-replay share.
#ifndef CUBEBACK_TOOLS_REPLAY_H
#define CUBEBACK_TOOLS_REPLAY_H

#include <stdbool.h>

#include <cubeback/ir.h>

enum { REPLAY_FAILED = 1, REPLAY_USAGE = 2, REPLAY_DIFFERS = 3, REPLAY_UNSTEADY = 4 };

struct replay_place {
    cbk_backend *backend;
    cbk_device *device;
    cbk_stream *stream;
};

struct replay_output {
    cbk_ir_operand operand;
    int64_t count;
    uint64_t size;
    void *data; ///< row-major
};

struct replay_results {
    uint32_t count;
    struct replay_output *outputs;
};

/// Makes inputs of numbers from `seed`, runs, reads the outputs. `reference` does conversions.
cbk_status replay_run(const cbk_ir_program *program, const struct replay_place *place,
                      const struct replay_place *reference, uint64_t seed,
                      struct replay_results *out);
bool replay_results_equal(const struct replay_results *a, const struct replay_results *b);
void replay_results_free(struct replay_results *results);

/// One line per output.
cbk_status replay_print(const struct replay_results *results, const struct replay_place *reference);

/// One line per output; 0, REPLAY_DIFFERS or REPLAY_FAILED. A negative tolerance: by dtype.
int replay_compare(const struct replay_results *wanted, const struct replay_results *got,
                   const struct replay_place *reference, double tolerance);

#endif
