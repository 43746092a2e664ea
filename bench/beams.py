#!/usr/bin/env python3
"""Summaries by beam search (4 beams) with t5-small's shape, f32: `hone generate` against Transformers' generate and CTranslate2, in pairs.

Documents of SciTLDR cut at 512 tokens, 8 a batch, every summary as long as is allowed. The seconds are those of
generating, the encoder included, tokenising and loading left out; hone is started anew for each sample, the peers stay
warm. Weights are random, so that scores lie close: the first tokens of the best beams must be the same.
"""
import json
import re

import common
import models

BEAMS, SOURCE = 4, 512


def hone_beams(options, folder, prompts):
    log = []
    output, _, peak = common.child([
        options.hone, "generate", "--model_name_or_path", str(folder), "--prompt_file", str(prompts), "--num_beams",
        str(BEAMS), "--batch_size", str(options.batch), "--max_new_tokens", str(options.new_tokens), "--eos_token_id",
        "-1", "--threads", str(common.THREADS), "--json"], log)
    said = re.search(r"in ([\d.]+) s, (\d+) new tokens at ([\d.]+) tokens/s", log[0])
    tokens = [json.loads(line)["tokens"] for line in output.splitlines() if line.strip()]
    return dict(seconds=int(said[2]) / float(said[3]), tokens=tokens, peak=peak)


def equal_start(mine, theirs, count=8):
    return sum(a[:count] == b[:count] for a, b in zip(mine, theirs))


def measure(options, kind, folder, sources):
    prompts = common.FILES / f"sources-{len(sources)}.jsonl"
    prompts.write_text("".join(json.dumps(dict(prompt_tokens=row)) + "\n" for row in sources))
    mine = lambda: hone_beams(options, folder, prompts)
    if options.only == "hone":
        one = mine()
        return {"hone documents/s": f"{len(sources) / one['seconds']:.2f}", "peak": f"{one['peak'] / 2**20:.0f}"}, {}
    peer = common.Peer(str(folder), *(["ctranslate2"] if kind == "CTranslate2" else []))
    theirs = lambda: peer.ask("summarize", rows=sources, new_tokens=options.new_tokens, beams=BEAMS, batch=options.batch)
    theirs()
    kept, retaken = common.pairs(options.pairs, options.retakes, lambda: peer.ask("probe")["gflops"], theirs, mine)
    peer_peak = peer.ask("peak")["bytes"]
    peer.close()
    hone_peak = max(p["hone"]["peak"] for p in kept)
    seen = common.summary(kept)
    row = {"peer": kind, "documents": len(sources), "batch": options.batch, "new tokens": options.new_tokens,
           "documents/s": f"{len(sources) / seen['peer_seconds']:.2f} / {len(sources) / seen['hone_seconds']:.2f}",
           "speed": f"{seen['speedup']:.2f}x", "peak MiB": f"{peer_peak / 2**20:.0f} / {hone_peak / 2**20:.0f}",
           "equal starts": f"{equal_start(kept[0]['hone']['tokens'], kept[0]['peer']['tokens'])} of {len(sources)}",
           "pairs": f"{seen['steady_pairs']} steady of {len(kept)}, {retaken} retaken"}
    return row, dict(summary=seen, peer_peak=peer_peak, hone_peak=hone_peak,
                     pairs=[dict(peer=p["peer"]["seconds"], hone=p["hone"]["seconds"], probes=p["probes"]) for p in kept])


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=8, help="documents of a batch; as run_summarization evaluates")
    parser.add_argument("--documents", type=int, default=16)
    parser.add_argument("--new_tokens", type=int, default=64)
    parser.add_argument("--peers", nargs="*", default=["Transformers", "CTranslate2"])
    options = parser.parse_args()
    if options.tiny:
        options.batch, options.documents, options.new_tokens = 2, 4, 8
    common.limit_threads()
    common.FILES.mkdir(parents=True, exist_ok=True)
    if not models.t5_tokenizer().exists():
        print(f"{models.data_folder()} has no tok-t5: nothing to measure (HONE_DATA names the folder)")
        return
    folder, _ = models.t5(0.0, options.tiny)
    sources = models.documents(folder, options.documents, SOURCE)
    rows, details = [], {}
    for kind in options.peers:
        row, details[kind] = measure(options, kind, folder, sources)
        rows.append(row)
        common.finish("Summaries by 4 beams, t5-small f32 (peer / hone)", rows, details, options)


if __name__ == "__main__":
    main()
