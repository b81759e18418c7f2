/// driver.h: the bare driver, for what the library's own share is measured against.
#ifndef BENCH_DRIVER_H
#define BENCH_DRIVER_H

#include <stddef.h>

#include "bench.h"

struct bench_driver;

/// A queue and an addition of `length` f32 on the device of that name (or the first whose device or
/// platform name contains it; NULL: the first). NULL when it cannot be had.
struct bench_driver *bench_driver_open(const char *name, size_t length);
void bench_driver_close(struct bench_driver *driver);

/// Nanoseconds of a bare clEnqueueNDRangeKernel, the mean of `count`; the queue is drained after.
double bench_driver_enqueue(struct bench_driver *driver, int count);

/// The same with a kernel object of its own for each, as a graph has.
double bench_driver_enqueue_each(struct bench_driver *driver, int count);

/// Times `issue`, which makes `count` launches on the bench's stream, and in turn with it as many
/// enqueues of the driver's addition of `length` f32. The result is per launch; its limit is a bare
/// enqueue, its note the difference.
cbk_status bench_measure_launches(struct bench *bench, const struct bench_case *of,
                                  cbk_status (*issue)(struct bench *, const struct bench_case *),
                                  double (*bare)(struct bench_driver *, int), int count,
                                  size_t length, struct bench_result *out);

/// What `--driver-probe` runs: prints the nanoseconds of the driver's own start.
int bench_driver_probe(const char *device_name);

#endif
