#!/usr/bin/env python3
"""Prints the results of cubeback-bench and of peers.py side by side, as a Markdown table.

    compare.py BENCH.json PEERS.json

A peer's column holds its time and, behind it, how many times as long as ours that is: below 1 the
peer is faster.
"""

import json
import sys

NAMES = {"numpy": "NumPy", "torch": "PyTorch", "openblas": "OpenBLAS"}


def time_text(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns / 1e3:.3g} us"


def rate_text(case):
    if case.get("flops"):
        return f"{case['gflops']:.3g} GFLOP/s"
    return f"{case['gbps']:.3g} GB/s" if case.get("bytes") else ""


def peer_times(bench, peers):
    """{case: {library: nanoseconds}}"""
    times = {}
    for case in peers["cases"]:
        times.setdefault(case["name"], {})[case["library"]] = case["median_ns"]
    for case in bench["cases"]:
        if "peer" in case:
            times.setdefault(case["name"], {})[case["peer"]] = case["peer_ns"]
    return times


def table(bench, times, libraries):
    yield ["case", "cubeback", "rate", "of limit"] + [NAMES.get(l, l) for l in libraries]
    for case in bench["cases"]:
        others = times.get(case["name"])
        if not others:
            continue
        ours, share = case["median_ns"], case.get("limit_ratio")
        row = [case["name"], time_text(ours), rate_text(case), f"{share:.2f}" if share else ""]
        for library in libraries:
            other = others.get(library)
            row.append(f"{time_text(other)}, {other / ours:.2f}" if other else "")
        yield row


def print_table(rows):
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rows.insert(1, ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]])
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print(f"| {' | '.join(cells)} |")


def print_slower(bench, times):
    slower = []
    for case in bench["cases"]:
        for library, other in times.get(case["name"], {}).items():
            ratio = other / case["median_ns"]
            if ratio < 1:
                slower.append((ratio, case["name"], NAMES.get(library, library)))
    print(f"\nSlower than a peer: {len(slower)}")
    for ratio, name, library in sorted(slower):
        print(f"- {name}: {ratio:.2f} of {library}'s speed")


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    with open(sys.argv[1]) as first, open(sys.argv[2]) as second:
        bench, peers = json.load(first), json.load(second)
    times = peer_times(bench, peers)
    libraries = [l for l in ("numpy", "torch", "openblas") if any(l in t for t in times.values())]
    print(f"cubeback {bench['library']}: {bench['device']}, driver {bench['driver']}")
    for library in peers["libraries"]:
        print(f"{NAMES[library['name']]} {library['version']}: {peers['device']}, "
              f"threads: {library['threads']}")
    print(f"{bench['date']}\n")
    print_table(table(bench, times, libraries))
    print_slower(bench, times)
    return 0


if __name__ == "__main__":
    sys.exit(main())
