#!/usr/bin/env python3
"""Requests per second and latencies of two programs hone beside each other, such as before and after a change of serving.

    bench/serving_pairs.py --a OLD/hone --b build/hone [--model gpt2|t5|FOLDER] [--clients 1 8 32] [--seconds 8] [--rounds 6]

One server at a time: in each round A and B are started, warmed up, asked by all clients and ended, in the order A B, then B A. A
ratio is of one round: the rate of B by that of A. Exit status 1: a median ratio is below --least.
"""
import argparse
import os
import pathlib
import statistics
import sys

from serving import load, make_weights, start

ROOT = pathlib.Path(__file__).resolve().parent.parent


def measure(hone, folder, options, clients):
    """Requests per second of a new server, and the latencies."""
    port = options.port
    process = start([hone, "serve", f"m={folder}", "--port", str(port), "--max_length", str(options.max_length)], port, "/readyz")
    try:
        parameters = {"parameters": {"max_new_tokens": options.new_tokens, "min_new_tokens": options.new_tokens}}
        load(port, "/v1/models/m:predict", clients, options.seconds / 4, parameters)
        return load(port, "/v1/models/m:predict", clients, options.seconds, parameters)
    finally:
        process.kill()
        process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--a", required=True)
    parser.add_argument("--b", default=str(ROOT / "build" / "hone"))
    parser.add_argument("--model", default="gpt2", help="gpt2 and t5 are made with random weights, which needs transformers and torch")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--new_tokens", type=int, default=32)
    parser.add_argument("--max_length", type=int, default=128)
    parser.add_argument("--least", type=float, default=0.97)
    parser.add_argument("--port", type=int, default=8481)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    folder = make_weights(options.model) if options.model in ("gpt2", "t5") else pathlib.Path(options.model).resolve()
    slow = 0
    for clients in options.clients:
        rates, latencies = {"a": [], "b": []}, {"a": [], "b": []}
        for i in range(options.rounds):
            for side in ("ab", "ba")[i % 2]:
                rate, times = measure(os.path.realpath(getattr(options, side)), folder, options, clients)
                rates[side].append(rate)
                latencies[side] += times
        ratios = sorted(b / a for a, b in zip(rates["a"], rates["b"]))
        tail = {side: sorted(times)[int(len(times) * 0.99)] for side, times in latencies.items()}
        middle = statistics.median(ratios)
        slow += middle < options.least
        print(f"{clients:3} clients  a {statistics.median(rates['a']):8.2f}  b {statistics.median(rates['b']):8.2f} requests/s  "
              f"p99 {tail['a']:.3f} and {tail['b']:.3f} s  b is {middle:.3f} times as fast ({ratios[0]:.3f} to {ratios[-1]:.3f}), "
              f"its p99 {tail['b'] / tail['a']:.3f} times as long", flush=True)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
