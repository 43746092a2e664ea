#!/usr/bin/env python3
"""An optimizer step of a small Mixtral on the CPU, AdamW, clipping, f32: hone against Transformers, and against hone's own
step of the Llama of the same active size, interleaved.

The models are `mixtral` and `mixtral-dense` of models.py: two of eight experts for each token, and an MLP of the size of
two. In each round Transformers, hone's Mixtral and hone's Llama follow each other with a probe before and after; a round
whose probes differ by more than 5 % is taken again. The losses of both Mixtrals must agree within 1e-3. Wanted: at least 1.5
times Transformers, and at most 1.3 times the time of the Llama.
"""
import json
import statistics

import common
import models
import train_step


def measure(options):
    folder, config = models.mixtral(options.tiny)
    dense, _ = models.mixtral(options.tiny, dense=True)
    rows = models.ids(options.batch, options.block, config["vocab_size"])
    rows_file = common.FILES / f"rows-{options.batch}x{options.block}-{config['vocab_size']}.jsonl"
    rows_file.write_text("".join(json.dumps(dict(ids=row)) + "\n" for row in rows))

    def step(of):
        return train_step.hone_step(options, of, rows_file, False, None)

    def own():
        return dict(step(folder), dense=step(dense))

    if options.only == "hone":
        one = own()
        return {"hone s": f"{one['seconds']:.3f}", "dense s": f"{one['dense']['seconds']:.3f}",
                "of dense": f"{one['seconds'] / one['dense']['seconds']:.2f}x"}, one
    peer = common.Peer(str(folder), f"device={options.device}")
    fresh = train_step.peer_step(peer, rows, 1 + options.warm_up)
    if options.only == "peer":
        peer.close()
        return {"Transformers s": f"{fresh['seconds']:.3f}"}, fresh
    kept, retaken = common.pairs(options.pairs, options.retakes, lambda: peer.ask("probe")["gflops"],
                                 lambda: train_step.peer_step(peer, rows, options.steps), own)
    peer.close()
    worst = train_step.check_losses(kept[0]["hone"]["loss"][:1 + options.steps], fresh["loss"][:1 + options.steps], False)
    seen = common.summary(kept)
    ratios = [pair["hone"]["seconds"] / pair["hone"]["dense"]["seconds"] for pair in kept]
    row = {"rows": f"{options.batch}x{options.block}", "Transformers s": f"{seen['peer_seconds']:.2f}",
           "hone s": f"{seen['hone_seconds']:.2f}", "speed": f"{seen['speedup']:.2f}x",
           "dense s": f"{statistics.median(pair['hone']['dense']['seconds'] for pair in kept):.2f}",
           "of dense": f"{statistics.median(ratios):.2f}x ({min(ratios):.2f} to {max(ratios):.2f})",
           "loss differs": f"{worst:.1e}", "pairs": f"{seen['steady_pairs']} steady of {len(kept)}, {retaken} retaken"}
    return row, dict(pairs=kept, summary=seen)


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--block", type=int, default=512)
    parser.add_argument("--steps", type=int, default=2, help="timed steps in one sample, after hone's first")
    parser.add_argument("--warm_up", type=int, default=2, help="further steps of the peer before the first round")
    options = parser.parse_args()
    if options.tiny:
        options.batch, options.block = 2, 64
    common.limit_threads(options.device)
    row, details = measure(options)
    common.finish("Training step of experts (Transformers / hone / hone's dense model)", [row], details, options)


if __name__ == "__main__":
    main()
