#!/usr/bin/env python3
"""One optimizer step, AdamW, clipping, f32 or bf16: hone against Transformers eager and torch.compile, in pairs.

GPT-2 124M at dropout 0.1 (its config) and 0, and SmolLM2-135M, which has none; smollm2-lora: an adapter of rank 16 in
all linear layers of SmolLM2-135M, against PEFT, with the adapter's dropout 0.05 and 0. mixtral: two of eight small
experts for each token; mixtral-dense: the Llama of the same active size.

The peer is one process that stays warm (its first step is reported apart); hone is started for each sample and its
first step is left out of the median too. Weights, ids, threads, precision and dropout are the same on both sides; at
dropout 0 the losses must agree within 1e-3 (bf16, where the peer also rounds what it stores: 2e-2).
"""
import json
import statistics

import common
import models

LEARNING_RATE = 5e-5
# Model, dropout (of an adapter: its own), whether the peer is compiled, whether both multiply in bf16.
CASES = {"gpt2": ("gpt2", 0.1, False, False), "gpt2-dropout-0": ("gpt2", 0.0, False, False),
         "gpt2-compile": ("gpt2", 0.1, True, False), "smollm2": ("smollm2", 0.0, False, False),
         "gpt2-bf16": ("gpt2", 0.0, False, True), "smollm2-lora": ("smollm2-lora", 0.05, False, False),
         "smollm2-lora-dropout-0": ("smollm2-lora", 0.0, False, False), "mixtral": ("mixtral", 0.0, False, False),
         "mixtral-dense": ("mixtral-dense", 0.0, False, False)}
# With --device cuda: torch.compile, SDPA and autocast on the other side.
GPU_CASES = {"gpt2-bf16-compile": ("gpt2", 0.0, True, True), "gpt2-dropout-bf16-compile": ("gpt2", 0.1, True, True),
             "gpt2-xl-bf16-compile": ("gpt2-xl", 0.0, True, True), "llama-1b-bf16-compile": ("llama-1b", 0.0, True, True)}


def hone_step(options, folder, rows_file, bf16, adapter):
    output, _, peak = common.child([
        options.hone, "bench", "step", "--model_name_or_path", str(folder), "--batch", str(options.batch), "--block",
        str(options.block), "--steps", str(1 + options.steps), "--ids", str(rows_file), "--learning_rate",
        str(LEARNING_RATE), "--threads", str(common.THREADS), "--device", options.device, "--json",
        *(["--bf16"] if bf16 else []),
        *(["--adapter_name_or_path", str(adapter)] if adapter else [])])
    said = json.loads(output)
    return dict(seconds=statistics.median(said["step_seconds"][1:]), first=said["step_seconds"][0], loss=said["loss"],
                peak=common.device_peak(options, said, max(peak, said["peak_rss_bytes"])), gflops=said["matmul_gflops"])


def peer_step(peer, rows, steps):
    said = peer.ask("train", rows=rows, steps=steps, learning_rate=LEARNING_RATE)
    return dict(seconds=statistics.median(said["step_seconds"]), all=said["step_seconds"], loss=said["loss"])


def check_losses(mine, theirs, bf16):
    worst = max(abs(a - b) / abs(b) for a, b in zip(mine, theirs))
    if worst > (2e-2 if bf16 else 1e-3):
        raise SystemExit(f"losses differ by {worst:.1e} of their size: hone {mine}, Transformers {theirs}")
    return worst


def measure(options, model, dropout, compiled, bf16):
    folder, config = (models.smollm2(options.tiny) if model.startswith("smollm2") else
                      models.llama_1b(options.tiny) if model == "llama-1b" else
                      models.mixtral(options.tiny, model.endswith("dense")) if model.startswith("mixtral") else
                      models.folder(dropout, options.tiny, model))
    adapter = models.lora_adapter(folder, dropout) if model.endswith("-lora") else None
    rows = models.ids(options.batch, options.block, config["vocab_size"])
    rows_file = common.FILES / f"rows-{options.batch}x{options.block}-{config['vocab_size']}.jsonl"
    rows_file.write_text("".join(json.dumps(dict(ids=row)) + "\n" for row in rows))
    tokens = options.batch * options.block
    flops = models.step_flops(config, options.batch, options.block)
    if adapter:  # no gradient of the frozen weights
        flops *= 2 / 3
    against = "torch.compile" if compiled else "eager"
    precision = "bf16" if bf16 else "f32"
    print(f"{model}, {precision}, dropout {dropout}, {against}: {tokens} tokens a step, {flops / 1e9:.0f} GFLOP", flush=True)
    if options.only == "hone":
        one = hone_step(options, folder, rows_file, bf16, adapter)
        return dict(model=model, precision=precision, dropout=dropout, hone_s=f"{one['seconds']:.3f}", peak=f"{one['peak'] / 2**20:.0f} MiB"), one
    peer = common.Peer(str(folder), *(["compile"] if compiled else []), *(["bf16"] if bf16 else []),
                       f"device={options.device}", *([f"adapter={adapter}"] if adapter else []))
    probe = lambda: peer.ask("probe")["gflops"]
    fresh = peer_step(peer, rows, 1)
    warm = peer_step(peer, rows, options.warm_up)
    print(f"  peer: first step {fresh['seconds']:.3f} s, then {warm['seconds']:.3f} s", flush=True)
    if options.only == "peer":
        peak = peer.ask("peak")["bytes"]
        gflops = probe()
        peer.close()
        return dict(model=model, precision=precision, dropout=dropout, peer=against, first_s=f"{fresh['seconds']:.3f}", warm_s=f"{warm['seconds']:.3f}",
                    tokens_per_s=f"{tokens / warm['seconds']:.0f}", peak=f"{peak / 2**20:.0f} MiB",
                    probe=f"{gflops:.0f} GFLOP/s", utilisation=f"{flops / warm['seconds'] / gflops / 1e9:.0%}"), warm
    kept, retaken = common.pairs(options.pairs, options.retakes, probe, lambda: peer_step(peer, rows, options.steps),
                                 lambda: hone_step(options, folder, rows_file, bf16, adapter))
    peer_peak = peer.ask("peak")["bytes"]
    peer.close()
    hone_peak = max(pair["hone"]["peak"] for pair in kept)
    seen = common.summary(kept)
    hone_gflops = statistics.median(pair["hone"]["gflops"] for pair in kept)
    peak = max(hone_gflops, seen["probe_gflops"])  # the faster matmul is what the machine can do
    peer_losses = (fresh["loss"] + warm["loss"])[:1 + options.steps]
    worst = check_losses(kept[0]["hone"]["loss"][:len(peer_losses)], peer_losses, bf16) if dropout == 0 else None
    row = {"model": model, "precision": precision, "dropout": dropout, "Transformers": against, "rows": f"{options.batch}x{options.block}",
           "Transformers s": f"{seen['peer_seconds']:.2f} (first {fresh['seconds']:.2f})",
           "hone s": f"{seen['hone_seconds']:.2f} (first {kept[0]['hone']['first']:.2f})",
           "speed": f"{seen['speedup']:.2f}x",
           "tokens/s": f"{tokens / seen['peer_seconds']:.0f} / {tokens / seen['hone_seconds']:.0f}",
           "utilisation": f"{flops / seen['peer_seconds'] / peak / 1e9:.0%} / "
                          f"{flops / seen['hone_seconds'] / peak / 1e9:.0%}",
           "peak MiB": f"{peer_peak / 2**20:.0f} / {hone_peak / 2**20:.0f}",
           "memory": f"{hone_peak / peer_peak:.2f}x",
           "matmul GFLOP/s": f"{seen['probe_gflops']:.0f} / {hone_gflops:.0f}",
           "loss differs": "" if worst is None else f"{worst:.1e}",
           "pairs": f"{seen['steady_pairs']} steady of {len(kept)}, {retaken} retaken"}
    return row, dict(pairs=kept, summary=seen, peer_peak=peer_peak, hone_peak=hone_peak)


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--block", type=int, default=512)
    parser.add_argument("--steps", type=int, default=1, help="timed steps in one sample, after hone's first")
    parser.add_argument("--warm_up", type=int, default=2, help="steps of the peer before the first pair")
    parser.add_argument("--cases", nargs="*", choices=[*CASES, *GPU_CASES])
    options = parser.parse_args()
    if options.device != "cpu" and not options.tiny:
        options.batch, options.block = 8, 1024
    if options.tiny:
        options.batch, options.block = 2, 64
    common.limit_threads(options.device)
    rows, details = [], {}
    for case in options.cases or (CASES if options.device == "cpu" else GPU_CASES):
        row, details[case] = measure(options, *{**CASES, **GPU_CASES}[case])
        rows.append(row)
        common.finish("Training step, AdamW (Transformers / hone)", rows, details, options)


if __name__ == "__main__":
    main()
