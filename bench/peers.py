#!/usr/bin/env python3
"""Times NumPy and PyTorch on the cases of cubeback-bench that they can do.

Names, shapes and dtypes are those of cubeback-bench, and so is the way of timing: a warm-up, then
batches of at least 20 ms each ended by a synchronisation, of which the median counts. Results go
into arrays that are there already wherever the library can do so; for the rest, freed host memory
stays with the process, so that no run pays for fresh pages.
"""

import argparse
import ctypes
import datetime
import json
import os
import platform
import statistics
import sys
import time

Mi = 1 << 20
BATCH_S, BATCHES, WARM_S = 20e-3, 15, 60e-3
LONGEST_S = 8  # a slow case gets fewer batches, but three


# ---- libraries -----------------------------------------------------------------------------------


class Numpy:
    name = "numpy"

    def __init__(self, device, threads):
        import numpy

        self.module, self.version, self.device = numpy, numpy.__version__, device
        self.threads = f"1, products {threads}"
        self.random = numpy.random.default_rng(1)

    def dtype(self, name):
        return getattr(self.module, name)

    def normal(self, *shape, dtype="float32"):
        return self.random.standard_normal(shape, dtype=self.dtype(dtype))

    def empty(self, *shape, dtype="float32"):
        return self.module.zeros(shape, self.dtype(dtype))

    def integers(self, high, *shape):
        return self.random.integers(0, high, shape)

    def mask(self, count, one_in):
        return self.random.random(count, dtype=self.module.float32) < 1 / one_in

    def finish(self):
        pass

    def forget(self):
        pass


class Torch:
    name = "torch"

    def __init__(self, device, threads):
        import torch

        if device == "cuda" and not torch.cuda.is_available():
            raise ImportError("PyTorch finds no CUDA device")
        torch.set_num_threads(threads)
        torch.manual_seed(1)
        torch.set_grad_enabled(False)
        self.module, self.version, self.device = torch, torch.__version__, device
        self.threads = str(torch.get_num_threads())
        self.finish = torch.cuda.synchronize if device == "cuda" else lambda: None

    def dtype(self, name):
        return getattr(self.module, name)

    def normal(self, *shape, dtype="float32"):
        return self.module.randn(*shape, dtype=self.dtype(dtype), device=self.device)

    def empty(self, *shape, dtype="float32"):
        return self.module.zeros(*shape, dtype=self.dtype(dtype), device=self.device)

    def integers(self, high, *shape):
        return self.module.randint(0, high, shape, device=self.device)

    def mask(self, count, one_in):
        return self.module.rand(count, device=self.device) < 1 / one_in

    def forget(self):
        if self.device == "cuda":
            self.module.cuda.empty_cache()


# ---- cases ---------------------------------------------------------------------------------------

CASES = {}


def case(name, setup, gpu_only=False, **runs):
    """runs: for each library, by name, a function of (module, *arrays) that does the work once."""
    CASES[name] = (setup, runs, gpu_only)


def flat(count, inputs=1):
    return lambda lib: (*(lib.normal(count) for _ in range(inputs)), lib.empty(count))


def matrix(rows, columns):
    return lambda lib: (lib.normal(rows, columns), lib.empty(rows, columns))


def with_row(rows, columns):
    return lambda lib: (lib.normal(rows, columns), lib.normal(columns), lib.empty(rows, columns))


def reduction(rows, columns, axis, dtype="float32"):
    kept = columns if axis == 0 else rows
    return lambda lib: (lib.normal(rows, columns), lib.empty(kept, dtype=dtype))


def norm(rows, columns):
    return lambda lib: (
        lib.normal(rows, columns),
        lib.normal(columns),
        lib.normal(columns),
        lib.empty(rows, columns),
    )


def rows_picked(table, columns, picked):
    return lambda lib: (
        lib.normal(table, columns),
        lib.integers(table, picked),
        lib.empty(picked, columns),
    )


def parts(rows, columns, members):
    return lambda lib: (
        [lib.normal(rows, columns // members) for _ in range(members)],
        lib.empty(rows, columns),
    )


def masked(count, one_in):
    return lambda lib: (lib.mask(count, one_in), lib.normal(count))


def product(m, n, k, dtype="float32"):
    return lambda lib: (
        lib.normal(m, k, dtype=dtype),
        lib.normal(k, n, dtype=dtype),
        lib.empty(m, n, dtype=dtype),
    )


def fused(m, n, k, dtype):
    return lambda lib: (
        lib.normal(m, k, dtype=dtype),
        lib.normal(k, n, dtype=dtype),
        lib.normal(n, dtype=dtype),
        lib.normal(m, n, dtype=dtype),
        lib.empty(m, n, dtype=dtype),
    )


def np_softmax(np, x, y):
    np.subtract(x, x.max(axis=1, keepdims=True), out=y)
    np.exp(y, out=y)
    np.divide(y, y.sum(axis=1, keepdims=True), out=y)


def np_logsumexp(np, x, y):
    top = x.max(axis=1, keepdims=True)
    y[:] = np.log(np.exp(x - top).sum(axis=1)) + top[:, 0]


def np_layer_norm(np, x, gamma, beta, y):
    np.subtract(x, x.mean(axis=1, keepdims=True), out=y)
    variance = np.einsum("ij,ij->i", y, y)[:, None] / np.float32(x.shape[1])
    np.multiply(y, 1 / np.sqrt(variance + np.float32(1e-5)), out=y)
    np.multiply(y, gamma, out=y)
    np.add(y, beta, out=y)


def np_rms_norm(np, x, gamma, beta, y):
    square = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[1])
    np.multiply(x, 1 / np.sqrt(square + np.float32(1e-5)), out=y)
    np.multiply(y, gamma, out=y)


def np_topk(np, x, k):
    places = np.argpartition(x, x.shape[1] - k, axis=1)[:, -k:]
    values = np.take_along_axis(x, places, axis=1)
    order = np.argsort(-values, axis=1)
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(places, order, axis=1)


def np_sort_both(np, x, *out):
    places = np.argsort(x, axis=1, kind="stable")
    return np.take_along_axis(x, places, axis=1), places


def torch_fused(torch, a, b, bias, residual, c):
    torch.addmm(bias, a, b, out=c)
    c.relu_().add_(residual)


def memory_cases():
    for size, count in (("64Mi", 64 * Mi), ("1GiB", 256 * Mi)):
        case(f"copy_f32_{size}", flat(count),
             numpy=lambda np, x, y: np.copyto(y, x), torch=lambda t, x, y: y.copy_(x))
        case(f"add_f32_{size}", flat(count, 2),
             numpy=lambda np, a, b, y: np.add(a, b, out=y),
             torch=lambda t, a, b, y: t.add(a, b, out=y))
        case(f"gelu_f32_{size}", flat(count),
             torch=lambda t, x, y: t.ops.aten.gelu.out(x, out=y))
    case("relu_f32_64Mi", flat(64 * Mi), numpy=lambda np, x, y: np.maximum(x, 0, out=y),
         torch=lambda t, x, y: t.clamp_min(x, 0, out=y))
    case("exp_f32_64Mi", flat(64 * Mi), numpy=lambda np, x, y: np.exp(x, out=y),
         torch=lambda t, x, y: t.exp(x, out=y))
    case("tanh_f32_64Mi", flat(64 * Mi), numpy=lambda np, x, y: np.tanh(x, out=y),
         torch=lambda t, x, y: t.tanh(x, out=y))
    case("gelu_backward_f32_64Mi", flat(64 * Mi, 2),
         torch=lambda t, x, g, y: t.ops.aten.gelu_backward.grad_input(g, x, grad_input=y))
    case("silu_backward_f32_64Mi", flat(64 * Mi, 2),
         torch=lambda t, x, g, y: t.ops.aten.silu_backward.grad_input(g, x, grad_input=y))
    for n in (8192, 16384):
        case(f"bcast_add_{n}", with_row(n, n), numpy=lambda np, x, row, y: np.add(x, row, out=y),
             torch=lambda t, x, row, y: t.add(x, row, out=y))
        case(f"transpose_copy_{n}", matrix(n, n), numpy=lambda np, x, y: np.copyto(y, x.T),
             torch=lambda t, x, y: y.copy_(x.T))
    case("tril_8192", matrix(8192, 8192), numpy=lambda np, x, y: np.tril(x),
         torch=lambda t, x, y: t.tril(x, out=y))
    for size, count in (("64M", 64 * Mi), ("256M", 256 * Mi)):
        case(f"rand_{size}", lambda lib, n=count: (lib, lib.empty(n)),
             numpy=lambda np, lib, y: lib.random.random(out=y, dtype=np.float32),
             torch=lambda t, lib, y: y.uniform_())
        case(f"randn_{size}", lambda lib, n=count: (lib, lib.empty(n)),
             numpy=lambda np, lib, y: lib.random.standard_normal(out=y, dtype=np.float32),
             torch=lambda t, lib, y: y.normal_())


def reduction_cases():
    for size, count in (("64Mi", 64 * Mi), ("1GiB", 256 * Mi)):
        case(f"sum_all_f32_{size}", flat(count), numpy=lambda np, x, y: np.sum(x),
             torch=lambda t, x, y: t.sum(x))
    for n in (8192, 16384):
        case(f"sum_rows_{n}", reduction(n, n, 1), numpy=lambda np, x, y: np.sum(x, 1, out=y),
             torch=lambda t, x, y: t.sum(x, 1, out=y))
        case(f"sum_cols_{n}", reduction(n, n, 0), numpy=lambda np, x, y: np.sum(x, 0, out=y),
             torch=lambda t, x, y: t.sum(x, 0, out=y))
        case(f"argmax_{n}", reduction(n, n, 1, "int64"),
             numpy=lambda np, x, y: np.argmax(x, 1, out=y),
             torch=lambda t, x, y: t.argmax(x, 1, out=y))
        case(f"var_rows_{n}", reduction(n, n, 1),
             numpy=lambda np, x, y: np.var(x, 1, ddof=1, out=y),
             torch=lambda t, x, y: t.var(x, 1, out=y))
        case(f"norm_rows_{n}", reduction(n, n, 1),
             numpy=lambda np, x, y: np.linalg.norm(x, axis=1),
             torch=lambda t, x, y: t.linalg.vector_norm(x, dim=1, out=y))
        case(f"logsumexp_rows_{n}", reduction(n, n, 1), numpy=np_logsumexp,
             torch=lambda t, x, y: t.logsumexp(x, 1, out=y))
    for name, rows, columns in (("8192", 8192, 8192), ("16384", 16384, 16384),
                                ("65536x1024", 65536, 1024)):
        case(f"softmax_{name}", matrix(rows, columns), numpy=np_softmax,
             torch=lambda t, x, y: t.ops.aten._softmax.out(x, 1, False, out=y))
        case(f"layernorm_{name}", norm(rows, columns), numpy=np_layer_norm,
             torch=lambda t, x, g, b, y: t.nn.functional.layer_norm(x, g.shape, g, b))
    case("rmsnorm_65536x1024", norm(65536, 1024), numpy=np_rms_norm,
         torch=lambda t, x, g, b, y: t.nn.functional.rms_norm(x, g.shape, g, 1e-5))


def index_cases():
    for name, shape in (("index_select_65536x1024", (65536, 1024, 32768)),
                        ("select_rows_512B", (1 << 20, 128, 512 << 10)),
                        ("select_rows_4KiB", (128 << 10, 1024, 64 << 10))):
        case(name, rows_picked(*shape),
             numpy=lambda np, x, i, y: np.take(x, i, axis=0, out=y, mode="clip"),
             torch=lambda t, x, i, y: t.index_select(x, 0, i, out=y))
    case("scatter_add_unordered_16Mi",
         lambda lib: (lib.normal(32768, 512), lib.integers(32768, 32768, 512),
                      lib.normal(32768, 512)),
         torch=lambda t, x, i, v: x.scatter_add_(0, i, v))
    case("embedding_backward_32768x512",
         lambda lib: (lib.normal(32768, 512), lib.integers(50000, 32768)),
         torch=lambda t, g, i: t.ops.aten.embedding_dense_backward(g, i, 50000, -1, False))
    sampled = lambda lib: (lib.normal(8, 64, 256, 256), lib.normal(8, 256, 256, 2) / 3,
                           lib.normal(8, 64, 256, 256))
    case("grid_sample_8x64x256x256", sampled,
         torch=lambda t, x, g, y: t.ops.aten.grid_sampler_2d(x, g, 0, 0, False))
    for name, mask in (("x", [True, False]), ("grid", [False, True])):
        case(f"grid_sample_{name}_backward_8x64x256x256", sampled,
             torch=lambda t, x, g, y, m=mask: t.ops.aten.grid_sampler_2d_backward(
                 y, x, g, 0, 0, False, m))
    for members in (2, 8, 32):
        case(f"cat_{members}_axis1_64Mi", parts(8192, 8192, members),
             numpy=lambda np, p, y: np.concatenate(p, axis=1, out=y),
             torch=lambda t, p, y: t.cat(p, 1, out=y))
    images = lambda lib: (lib.normal(256, 512, 512),)
    frame = ((0, 0), (1, 1), (1, 1))
    case("pad_frame_256x512x512", images, numpy=lambda np, x: np.pad(x, frame),
         torch=lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1)))
    case("pad_reflect_256x512x512", images, numpy=lambda np, x: np.pad(x, frame, mode="reflect"),
         torch=lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"))
    case("roll_256x512x512", images, numpy=lambda np, x: np.roll(x, (3, -7, 128), (0, 1, 2)),
         torch=lambda t, x: t.roll(x, (3, -7, 128), (0, 1, 2)))
    case("count_nonzero_64Mi", masked(64 * Mi, 8), numpy=lambda np, m, x: np.count_nonzero(m),
         torch=lambda t, m, x: t.count_nonzero(m))
    case("argwhere_64Mi", masked(64 * Mi, 8), numpy=lambda np, m, x: np.argwhere(m),
         torch=lambda t, m, x: t.argwhere(m))
    case("mask_select_64Mi", masked(64 * Mi, 4), numpy=lambda np, m, x: x[m],
         torch=lambda t, m, x: t.masked_select(x, m))


def order_cases():
    for n in (4096, 16384):
        for word, axis in (("rows", 1), ("cols", 0)):
            case(f"cumsum_{word}_{n}", matrix(n, n),
                 numpy=lambda np, x, y, axis=axis: np.cumsum(x, axis, out=y),
                 torch=lambda t, x, y, axis=axis: t.cumsum(x, axis, out=y))
    case("cumsum_64Mi", flat(64 * Mi), numpy=lambda np, x, y: np.cumsum(x, out=y),
         torch=lambda t, x, y: t.cumsum(x, 0, out=y))

    def sorted_into(rows, columns):
        return lambda lib: (lib.normal(rows, columns), lib.empty(rows, columns),
                            lib.empty(rows, columns, dtype="int64"))

    for size, count in (("16Mi", 16 * Mi), ("64Mi", 64 * Mi)):
        case(f"sort_f32_{size}", sorted_into(1, count),
             numpy=lambda np, x, v, i: np.sort(x, axis=1),
             torch=lambda t, x, v, i: t.sort(x, dim=1, out=(v, i)))
    case("sort_both_f32_64Mi", sorted_into(1, 64 * Mi), numpy=np_sort_both,
         torch=lambda t, x, v, i: t.sort(x, dim=1, stable=True, out=(v, i)))
    for name, rows, columns in (("65536x1024", 65536, 1024), ("4096x16384", 4096, 16384)):
        case(f"argsort_rows_{name}", sorted_into(rows, columns),
             numpy=lambda np, x, v, i: np.argsort(x, axis=1, kind="stable"),
             torch=lambda t, x, v, i: t.sort(x, dim=1, stable=True, out=(v, i)))
    case("topk32_4096x16384", matrix(4096, 16384), numpy=lambda np, x, y: np_topk(np, x, 32),
         torch=lambda t, x, y: t.topk(x, 32, dim=1))
    weights = lambda rows, columns: lambda lib: (lib.normal(rows, columns) ** 2,)
    case("categorical_64x131072", weights(64, 131072),
         torch=lambda t, x: t.multinomial(x, 1, replacement=True))
    case("categorical_1Mi_of_65536", weights(1, 65536),
         torch=lambda t, x: t.multinomial(x, Mi, replacement=True))
    case("categorical_distinct32_64x131072", weights(64, 131072),
         torch=lambda t, x: t.multinomial(x, 32))


def product_cases():
    def matmul(name, setup, gpu_only=False, numpy=lambda np, a, b, c: np.matmul(a, b, out=c)):
        runs = {"torch": lambda t, a, b, c: t.matmul(a, b, out=c)}
        if numpy:
            runs["numpy"] = numpy
        case(name, setup, gpu_only, **runs)

    for n in (64, 256, 512, 1024, 2048, 4096, 8192):
        matmul(f"matmul_f32_{n}", product(n, n, n), n > 2048)
    for n in (1024, 4096):
        matmul(f"matmul_f64_{n}", product(n, n, n, "float64"), n > 2048)
        for word, dtype in (("f16", "float16"), ("bf16", "bfloat16")):
            matmul(f"matmul_{word}_{n}", product(n, n, n, dtype), n > 2048, numpy=None)
    matmul("matmul_f32_8x256x256", product(8, 256, 256))
    matmul("matmul_f32_8x4096x4096", product(8, 4096, 4096))
    matmul("matmul_bf16_8x4096x4096", product(8, 4096, 4096, "bfloat16"), numpy=None)
    for name, dtype, m, n, k in (("f32_8x256x256", "float32", 8, 256, 256),
                                 ("f32_1024", "float32", 1024, 1024, 1024),
                                 ("f32_4096", "float32", 4096, 4096, 4096),
                                 ("bf16_4096", "bfloat16", 4096, 4096, 4096)):
        case(f"matmul_fused_{name}", fused(m, n, k, dtype), n > 2048, torch=torch_fused)
    matmul("bmm_f32_64x512",
           lambda lib: (lib.normal(64, 512, 512), lib.normal(64, 512, 512),
                        lib.empty(64, 512, 512)))
    matmul("gemv_f32_16384", product(16384, 1, 16384))


def linalg_cases():
    matrices = lambda count, n: lambda lib: (lib.normal(count, n, n),)
    for name, setup in (("4096x32x32", matrices(4096, 32)), ("1024", matrices(1, 1024))):
        case(f"lu_{name}", setup, torch=lambda t, x: t.linalg.lu_factor(x))
        case(f"det_{name}", setup, numpy=lambda np, x: np.linalg.det(x),
             torch=lambda t, x: t.linalg.det(x))
        case(f"qr_{name}", setup, numpy=lambda np, x: np.linalg.qr(x),
             torch=lambda t, x: t.linalg.qr(x))


def captured(work, setup):
    """Sets up a CUDA graph of the work; None where there is none."""
    def prepare(lib):
        if lib.name != "torch" or lib.device != "cuda":
            return None
        torch, state, side = lib.module, setup(lib), lib.module.cuda.Stream()
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            work(torch, *state)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            work(torch, *state)
        return (graph, state)
    return prepare


def graph_cases():
    def elementwise(module, x):
        for _ in range(100):
            x = x * 0.5
            x = x + 0.25

    def perceptron(t, x, weights, biases):
        for w, b in zip(weights, biases):
            x = t.addmm(b, x, w).relu_().add_(x)

    small = lambda lib: (lib.normal(1024),)
    layers = lambda lib: (lib.normal(8, 256), [lib.normal(256, 256) / 64 for _ in range(20)],
                          [lib.normal(256) for _ in range(20)])
    replay = lambda t, graph, state: graph.replay()
    case("elem200_1024", small, numpy=elementwise, torch=elementwise)
    case("mlp20_b8", layers, torch=perceptron)
    case("elem200_1024_graph", captured(elementwise, small), torch=replay)
    case("mlp20_b8_graph", captured(perceptron, layers), torch=replay)


# ---- timing --------------------------------------------------------------------------------------


def time_batch(once, finish, count):
    start = time.perf_counter()
    for _ in range(count):
        once()
    finish()
    return (time.perf_counter() - start) / count


def batch_length(each):
    return int(BATCH_S / each) + 1 if each < BATCH_S else 1


def measure(once, finish):
    """Seconds of one run: (median, 10th percentile, 90th percentile)."""
    begin = time.perf_counter()
    each = time_batch(once, finish, 1)
    while time.perf_counter() - begin < WARM_S:
        each = time_batch(once, finish, 1)
    count = batch_length(each)
    if count > 1:
        count = batch_length(time_batch(once, finish, count))
    samples = []
    while len(samples) < BATCHES:
        samples.append(time_batch(once, finish, count))
        if len(samples) >= 3 and time.perf_counter() - begin > LONGEST_S:
            break
    samples.sort()
    tenth = len(samples) // 10
    return statistics.median(samples), samples[tenth], samples[-1 - tenth]


def run_case(library, name):
    setup, runs, _ = CASES[name]
    if library.name not in runs:
        return None
    state = setup(library)
    if state is None:
        return None
    run = runs[library.name]
    library.finish()
    median, p10, p90 = measure(lambda: run(library.module, *state), library.finish)
    return {"name": name, "library": library.name, "median_ns": median * 1e9, "p10_ns": p10 * 1e9,
            "p90_ns": p90 * 1e9}


# ---- the program ---------------------------------------------------------------------------------


def keep_freed_memory():
    """Makes glibc hand large freed blocks out again instead of unmapping them."""
    mmap_max, trim_threshold = -4, -1
    try:
        libc = ctypes.CDLL(None)
        libc.mallopt(mmap_max, 0)
        libc.mallopt(trim_threshold, 2**31 - 1)
    except (OSError, AttributeError):
        pass


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--filter", default="", help="run the cases whose name contains one of "
                        "these comma-separated parts")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu",
                        help="cuda: PyTorch only")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", help="write the results to this file")
    return parser.parse_args()


def load_libraries(options):
    loaded = []
    for library in (Torch,) if options.device == "cuda" else (Numpy, Torch):
        try:
            loaded.append(library(options.device, options.threads))
        except ImportError as error:
            print(f"peers: {library.name} is left out: {error}", file=sys.stderr)
    return loaded


def processor():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(l.split(":")[1].strip() for l in lines if l.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def device_name(options, libraries):
    if options.device == "cuda" and libraries:
        return libraries[0].module.cuda.get_device_name()
    return processor()


def run_all(libraries, options):
    parts = [part for part in options.filter.split(",") if part]
    for name, (_, _, gpu_only) in CASES.items():
        if parts and not any(part in name for part in parts):
            continue
        if gpu_only and options.device == "cpu":
            continue
        for library in libraries:
            try:
                result = run_case(library, name)
            except Exception as error:  # memory, or a function this version does not have
                print(f"{name:28} {library.name:6} failed: {error}", file=sys.stderr)
                result = None
            library.forget()
            if result:
                microseconds = result["median_ns"] / 1e3
                print(f"{name:28} {library.name:6} {microseconds:12.2f} us", flush=True)
                yield result


def main():
    options = parse()
    for add in (memory_cases, reduction_cases, product_cases, linalg_cases, graph_cases,
                index_cases, order_cases):
        add()
    if options.list:
        print("\n".join(CASES))
        return 0
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(options.threads)
    keep_freed_memory()
    libraries = load_libraries(options)
    if not libraries:
        return 1
    cases = list(run_all(libraries, options))
    result = {
        "device": device_name(options, libraries),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "python": platform.python_version(),
        "libraries": [{"name": library.name, "version": library.version,
                       "threads": library.threads} for library in libraries],
        "cases": cases,
    }
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
