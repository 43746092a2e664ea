#!/usr/bin/env python3
"""What memory costs in time: steps of GPT-2 124M with activations that are computed again, against steps that keep all,
in pairs of the same program. The losses must be equal to the bit.
"""
import json
import statistics

import common
import models

CASES = {"gradient_checkpointing": ["--gradient_checkpointing"],
         "half": ["--activation_memory_budget", "0.5"],
         "quarter": ["--activation_memory_budget", "0.25"]}


def step(options, folder, flags):
    output, _, peak = common.child([
        options.hone, "bench", "step", "--model_name_or_path", str(folder), "--batch", str(options.batch), "--block",
        str(options.block), "--steps", str(1 + options.steps), "--threads", str(common.THREADS), "--json", *flags])
    said = json.loads(output)
    return dict(seconds=statistics.median(said["step_seconds"][1:]), loss=said["loss"], planned=said["planned_bytes"],
                gflops=said["matmul_gflops"])


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--block", type=int, default=512)
    parser.add_argument("--steps", type=int, default=2, help="timed steps in one sample, after the first")
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    options = parser.parse_args()
    if options.tiny:
        options.batch, options.block = 2, 64
    common.limit_threads()
    folder, _ = models.folder(0.0, options.tiny)
    rows, details = [], {}
    for case in options.cases:
        print(f"{case}: {' '.join(CASES[case])}", flush=True)
        kept = []
        for pair in range(options.pairs):
            order = [[], CASES[case]] if pair % 2 == 0 else [CASES[case], []]
            one, two = (step(options, folder, flags) for flags in order)
            less, all_kept = (two, one) if pair % 2 == 0 else (one, two)
            if less["loss"] != all_kept["loss"]:
                raise SystemExit(f"the losses differ: {less['loss']} and {all_kept['loss']}")
            kept.append(dict(less=less, all=all_kept, ratio=less["seconds"] / all_kept["seconds"]))
            print(f"  pair {pair + 1}: {all_kept['seconds']:.3f} s, {less['seconds']:.3f} s with less, "
                  f"{all_kept['gflops']:.0f} {less['gflops']:.0f} GFLOP/s", flush=True)
        rows.append({"flags": " ".join(CASES[case]), "rows": f"{options.batch}x{options.block}",
                     "planned MiB": f"{kept[0]['all']['planned'] / 2**20:.0f} / {kept[0]['less']['planned'] / 2**20:.0f}",
                     "step s": f"{statistics.median(k['all']['seconds'] for k in kept):.2f} / "
                               f"{statistics.median(k['less']['seconds'] for k in kept):.2f}",
                     "time": f"{statistics.median(k['ratio'] for k in kept):.3f}x",
                     "of single pairs": " ".join(f"{k['ratio']:.2f}" for k in kept)})
        details[case] = kept
        common.finish("Recomputed activations, f32, dropout 0 (all kept / with the flags)", rows, details, options)


if __name__ == "__main__":
    main()
