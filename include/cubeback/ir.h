/// cubeback/ir.h: programs: operations recorded on one backend, saved, and run on another.
///
/// A recorder is a backend over another one. On request it writes down what a stream does: every
/// operation with its parameters, views included, host writes, and where random numbers start. The
/// result is a program. It can be kept in a file, which is what a bug report needs, and run on a
/// stream of any backend. docs/ir.md tells how to use it and what is in a file.
///
///     cbk_ir_recorder_create(opencl, &recorder);      // open device and stream on `recorder`
///     cbk_ir_begin(stream, NULL);
///     ...                                             // any work
///     cbk_ir_end(stream, &loss, 1, &program);
///     cbk_ir_save(program, "loss.cbkir");
///
/// Threads: programs are immutable and may be used from any thread. cbk_ir_begin, _end and _abort
/// belong to the stream's thread.
#ifndef CUBEBACK_IR_H
#define CUBEBACK_IR_H

#include <cubeback/cubeback.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cbk_ir_program cbk_ir_program;

// ---- recording -----------------------------------------------------------------------------

/// Makes a backend that passes everything on to `inner`, which it keeps, and can record.
/// While nothing is recorded it costs one call per call. The functions of cubeback/opencl.h
/// refuse its objects.
CBK_API cbk_status cbk_ir_recorder_create(cbk_backend *inner, cbk_backend **out);

enum {
    /// Tensors from before the recording become inputs of the program; else their contents are
    /// part of it.
    CBK_IR_LEAVE_CONTENTS_OUT = 1u << 0
};

typedef struct cbk_ir_record_params {
    uint32_t struct_size;
    uint32_t flags; ///< CBK_IR_LEAVE_CONTENTS_OUT
    /// Tensors that each run gets from its caller: the program's first inputs, in this order. No
    /// two of them may share memory.
    const cbk_tensor *const *inputs;
    uint32_t input_count;
    uint32_t reserved;
    /// Most bytes of contents that the program may hold; 0: 1 GiB. A tensor whose contents would
    /// go beyond becomes an input.
    uint64_t contents_limit_bytes;
} cbk_ir_record_params;

/// From here on, what the stream does is recorded. NULL params: all defaults.
///
/// A tensor that the recording has not seen made counts by what it holds when it is first used:
/// its contents are read back then, which waits for the stream. Operations of other streams are
/// not recorded; if one of them writes to a tensor of the recording, the recording fails. So does
/// one that draws random numbers over a backend that cannot tell its cbk_random_state.
/// Graphs are refused on the stream meanwhile with CBK_ERROR_INVALID_STATE, and so is exporting
/// its tensors' memory.
/// Errors: CBK_ERROR_INVALID_ARGUMENT for a stream of no recorder; CBK_ERROR_INVALID_STATE while
/// the stream records or captures.
CBK_API cbk_status cbk_ir_begin(cbk_stream *stream, const cbk_ir_record_params *params);

/// Ends the recording. `outputs` name the results of the program; count 0: every result that is
/// still alive and that no later operation took, in the order of the operations.
/// Errors: CBK_ERROR_INVALID_ARGUMENT for an output that the recording does not know (it goes on
/// then); otherwise the reason for which the recording failed on its way, and it has ended.
CBK_API cbk_status cbk_ir_end(cbk_stream *stream, const cbk_tensor *const *outputs,
                              uint32_t output_count, cbk_ir_program **out);

/// Forgets the recording, if there is one.
CBK_API cbk_status cbk_ir_abort(cbk_stream *stream);

// ---- programs ------------------------------------------------------------------------------

CBK_API cbk_ir_program *cbk_ir_program_retain(cbk_ir_program *program);
CBK_API void cbk_ir_program_release(cbk_ir_program **program);

typedef struct cbk_ir_info {
    uint32_t struct_size;
    uint32_t step_count; ///< operations, host writes, settings of the random state
    uint32_t op_count;   ///< operations alone
    uint32_t input_count;
    uint32_t output_count;
    uint32_t draws; ///< 1 if it draws random numbers
    uint64_t contents_bytes;
} cbk_ir_info;

CBK_API cbk_status cbk_ir_get_info(const cbk_ir_program *program, cbk_ir_info *out);

enum { CBK_IR_IS_WRITTEN = 1u << 0 /**< the program writes into this input, in place */ };

/// An input or an output.
typedef struct cbk_ir_operand {
    uint32_t struct_size;
    cbk_dtype dtype;
    uint32_t rank;
    uint32_t flags;                ///< CBK_IR_IS_WRITTEN
    int64_t shape[CBK_MAX_RANK];   ///< entries past the rank are 1
    int64_t strides[CBK_MAX_RANK]; ///< as recorded, in elements
} cbk_ir_operand;

/// Errors: CBK_ERROR_NOT_FOUND past the last one.
CBK_API cbk_status cbk_ir_get_input(const cbk_ir_program *program, uint32_t index,
                                    cbk_ir_operand *out);
CBK_API cbk_status cbk_ir_get_output(const cbk_ir_program *program, uint32_t index,
                                     cbk_ir_operand *out);

/// Writes the program as text, one line per input, constant, step and output, and a zero at the
/// end. *out_size is the size of the whole; a smaller `capacity` gets as much as fits. `text` may
/// be NULL when `capacity` is 0.
CBK_API cbk_status cbk_ir_describe(const cbk_ir_program *program, char *text, uint64_t capacity,
                                   uint64_t *out_size);

// ---- files ---------------------------------------------------------------------------------

/// Errors: CBK_ERROR_IO with the system's reason; no file is left then.
CBK_API cbk_status cbk_ir_save(const cbk_ir_program *program, const char *path);

/// Takes any bytes for what they are: nothing in a file can make this crash or ask for more memory
/// than a few times its size. Operations that this version does not know are found at run time.
/// Errors: CBK_ERROR_IO, CBK_ERROR_CORRUPT, CBK_ERROR_VERSION for a newer format.
CBK_API cbk_status cbk_ir_load(const char *path, cbk_ir_program **out);

/// The same bytes in memory. *out_size is the size of the whole; nothing is written when
/// `capacity` is smaller, and `data` may be NULL then.
CBK_API cbk_status cbk_ir_save_memory(const cbk_ir_program *program, void *data, uint64_t capacity,
                                      uint64_t *out_size);
CBK_API cbk_status cbk_ir_load_memory(const void *data, uint64_t size_bytes, cbk_ir_program **out);

// ---- running -------------------------------------------------------------------------------

/// Makes a tensor that fits input `index`, with the strides that were recorded. `data` is row-major
/// of exactly the elements' size; NULL: undefined contents.
CBK_API cbk_status cbk_ir_make_input(const cbk_ir_program *program, cbk_stream *stream,
                                     uint32_t index, const void *data, uint64_t size_bytes,
                                     cbk_tensor **out);

/// Runs the program on `stream`, behind what is there.
///
/// inputs:   cbk_ir_info.input_count tensors of the recorded dtypes and shapes. Other strides than
///           the recorded ones are taken where no step depends on them.
/// outputs:  room for cbk_ir_info.output_count handles; each gets a new reference, all are NULL
///           after a failure. An output may be an input that the program writes into.
/// Aliasing: inputs with CBK_IR_IS_WRITTEN are written in place, as in the recording. Constants
///           are made anew for each run.
/// Random:   numbers are those of the recording; the stream's own state is put back at the end.
/// Errors:   those of the operations, with the number of the step; CBK_ERROR_UNSUPPORTED for an
///           operation, or draws, that this version or backend has not; CBK_ERROR_INVALID_STATE
///           while the stream captures a graph and the program has constants or draws.
CBK_API cbk_status cbk_ir_run(const cbk_ir_program *program, cbk_stream *stream,
                              cbk_tensor *const *inputs, cbk_tensor **outputs);

#ifdef __cplusplus
}
#endif
#endif
