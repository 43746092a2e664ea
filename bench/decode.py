#!/usr/bin/env python3
"""Greedy decoding with GPT-2 124M, f32, batch 1 and 8: `hone generate` against Transformers' generate, in pairs.

The seconds of a sample are those of generating, prompts included and loading left out: around generate() for the
peer, which stays warm, and by the program's own clock for hone, which is started anew for each sample. The tokens must
be the same on both sides.
"""
import json
import re

import common
import models

PROMPT = 32


def hone_generate(options, folder, batch, new_tokens):
    prompts = common.FILES / f"prompts-{batch}.jsonl"
    log = []
    output, _, peak = common.child([
        options.hone, "generate", "--model_name_or_path", str(folder), "--prompt_file", str(prompts),
        "--max_new_tokens", str(new_tokens), "--threads", str(common.THREADS), "--json"], log)
    said = re.search(r"in ([\d.]+) s, (\d+) new tokens at ([\d.]+) tokens/s", log[0])
    tokens = [json.loads(line)["tokens"] for line in output.splitlines() if line.strip()]
    return dict(seconds=int(said[2]) / float(said[3]), tokens=tokens, peak=peak)


def measure(options, batch):
    folder, config = models.folder(0.0, options.tiny)
    prompts = models.ids(batch, PROMPT, config["vocab_size"])
    (common.FILES / f"prompts-{batch}.jsonl").write_text(
        "".join(json.dumps(dict(prompt_tokens=row)) + "\n" for row in prompts))
    mine = lambda: hone_generate(options, folder, batch, options.new_tokens)
    if options.only == "hone":
        seconds = mine()["seconds"]
        return {"batch": batch, "hone tokens/s": f"{batch * options.new_tokens / seconds:.1f}"}, {}
    peer = common.Peer(str(folder))
    theirs = lambda: peer.ask("generate", rows=prompts, new_tokens=options.new_tokens)
    theirs()
    if options.only == "peer":
        seconds = theirs()["seconds"]
        peer.close()
        return {"batch": batch, "Transformers tokens/s": f"{batch * options.new_tokens / seconds:.1f}"}, {}
    kept, retaken = common.pairs(options.pairs, options.retakes, lambda: peer.ask("probe")["gflops"], theirs, mine)
    peer_peak = peer.ask("peak")["bytes"]
    peer.close()
    equal = sum(a == b for a, b in zip(kept[0]["peer"]["tokens"], kept[0]["hone"]["tokens"]))
    seen = common.summary(kept)
    made = batch * options.new_tokens
    row = {"batch": batch, "new tokens": options.new_tokens,
           "tokens/s": f"{made / seen['peer_seconds']:.1f} / {made / seen['hone_seconds']:.1f}",
           "speed": f"{seen['speedup']:.2f}x",
           "peak MiB": f"{peer_peak / 2**20:.0f} / {max(p['hone']['peak'] for p in kept) / 2**20:.0f}",
           "equal rows": f"{equal} of {batch}",
           "pairs": f"{seen['steady_pairs']} steady of {len(kept)}, {retaken} retaken"}
    return row, dict(summary=seen, pairs=[dict(peer=p["peer"]["seconds"], hone=p["hone"]["seconds"],
                                               probes=p["probes"]) for p in kept])


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 8])
    parser.add_argument("--new_tokens", type=int, default=96)
    options = parser.parse_args()
    common.limit_threads()
    rows, details = [], {}
    for batch in options.batches:
        row, details[f"batch {batch}"] = measure(options, batch)
        rows.append(row)
    common.finish("Greedy decoding, GPT-2 124M f32 (Transformers / hone)", rows, details, options)


if __name__ == "__main__":
    main()
