#!/usr/bin/env python3
# nightly: --all
"""Every family on several ranks: the losses of one rank.

    tests/faults/families.py --hone build/hone [--all] [--device cpu|xla_cpu|cuda_emulated] [FAMILY...]

The configs are those of tests/goldens, with random weights and the vocabularies of the tokenizers there. Ranks are processes, and with xla_cpu
the devices of one process. Losses may differ from those of one rank by the order of float32 sums alone. Without --all some families on
processors; with --all every one on all kinds of devices.
"""
import argparse
import json
import os
import shutil
import sys

from placement_bits import GOLDENS, SOURCE
from ranks import Fault, Skipped, World, close, demand, run_tests

STEPS, ROWS = 3, 8  # rows of a step of all ranks
SEED = "1"  # with 42 an input of a ReLU of ResNet is so near 0 that the order of a sum decides its gradient
FEW = ("gemma2_tiny", "qwen3_moe_tiny", "marian_tiny", "deberta_masked_lm", "resnet_bottleneck")
TASKS = {
    "decoder": ["clm", "--train_file", "t.txt", "--tokenizer_name", GOLDENS + "/tiny_text_gpt2", "--block_size", "24", "--validation_split_percentage", "0"],
    "seq2seq": ["summarization", "--train_file", "pairs.jsonl", "--tokenizer_name", GOLDENS + "/pairs/t5", "--max_source_length", "40", "--max_target_length", "16"],
    "masked_lm": ["mlm", "--train_file", "t.txt", "--tokenizer_name", GOLDENS + "/classification/bert", "--max_seq_length", "40", "--line_by_line",
                  "--validation_split_percentage", "0"],
    "sequence_classification": ["classification", "--train_file", "labels.jsonl", "--tokenizer_name", GOLDENS + "/classification/bert", "--max_seq_length", "40"],
    "image": ["image_classification", "--train_dir", GOLDENS + "/image_folder/train"],
}
VOCABULARIES = {"decoder": 657, "seq2seq": 304, "masked_lm": 104, "sequence_classification": 104}
# Of --device: the flags of one rank, whether ranks are devices of one process, and (ranks, ZeRO stage) of the worlds.
DEVICES = {"cpu": ([], False, [(2, 3), (4, 1)]), "xla_cpu": (["--device", "xla_cpu"], True, [(8, 1)]),
           "cuda_emulated": (["--device", "cuda_emulated"], False, [(2, 3), (4, 0)])}


def families():
    """The folder of each config by its name, and the kind of its task."""
    for name in sorted(os.listdir(os.path.join(GOLDENS, "models"))):
        with open(os.path.join(GOLDENS, "models", name, "config.json")) as f:
            config = json.load(f)
        yield os.path.join("models", name), "seq2seq" if config.get("is_encoder_decoder") else "decoder"
    for name in sorted(os.listdir(os.path.join(GOLDENS, "encoders"))):
        kind = next((k for k in ("masked_lm", "sequence_classification") if name.endswith(k)), None)
        if kind:
            yield os.path.join("encoders", name), kind
    for name in sorted(os.listdir(os.path.join(GOLDENS, "image_models"))):
        yield os.path.join("image_models", name), "image"


def config_of_test(config, kind):
    """The config with the vocabulary of the tokenizer, without labels, and for square images of three colours."""
    for key in ("id2label", "label2id", "num_labels"):
        if kind == "sequence_classification":
            config.pop(key, None)
    for part in [config] + [v for v in config.values() if isinstance(v, dict)]:
        for key in ("vocab_size", "vocab_size_per_layer_input", "decoder_vocab_size"):
            if key in part:
                part[key] = VOCABULARIES[kind]
        if part.get("num_channels"):
            part["num_channels"] = 3
        for key in ("image_size", "img_size"):
            if isinstance(part.get(key), list):
                part[key] = [max(part[key])] * 2
        if "input_size" in part:
            part["input_size"] = [3] + [max(part["input_size"][1:])] * 2
    return config


def command(w, folder, kind, out, device, rows):
    name = os.path.basename(folder)
    config = w.path(name + ".json")
    if not os.path.exists(config):
        with open(os.path.join(GOLDENS, folder, "config.json")) as f:
            found = config_of_test(json.load(f), kind)
        with open(config, "w") as f:
            json.dump(found, f)
    return [w.hone, "train", "--task", *TASKS[kind], "--config_name", config, "--do_train", "--max_steps", str(STEPS), "--logging_steps", "1",
            "--save_strategy", "no", "--learning_rate", "0.001", "--adam_epsilon", "0.001", "--seed", SEED,
            "--per_device_train_batch_size", str(rows), "--output_dir", out, *DEVICES[device][0]]


def losses(w, folder, kind, device, ranks, stage):
    argv = command(w, folder, kind, "out", device, ROWS // ranks) + ["--zero_stage", str(stage)]
    one_process = DEVICES[device][1]
    if one_process and ranks > 1:
        argv += ["--tpu_num_cores", str(ranks)]
    try:
        w.run(1 if one_process else ranks, argv)
    except Fault as fault:
        if "H1361" in str(fault):
            raise Skipped("there is no PJRT plug-in for the CPU") from None
        raise
    found = w.losses("out")
    shutil.rmtree(w.path("out"))
    return found


def test_of(folder, kind, device):
    def test(w):
        one = losses(w, folder, kind, device, 1, 0)
        demand(len(one) == STEPS, f"{len(one)} losses")
        for ranks, stage in DEVICES[device][2]:
            close(losses(w, folder, kind, device, ranks, stage), one, f"{folder} on {ranks} ranks of {device}, ZeRO {stage}")

    test.__name__ = f"{os.path.basename(folder)}_on_{device}"
    return test


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--device", choices=tuple(DEVICES))
    parser.add_argument("families", nargs="*")
    options = parser.parse_args()
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # compiles faster
    hone = os.path.abspath(options.hone)
    names = options.families or FEW
    chosen = [(f, k) for f, k in families() if options.all or os.path.basename(f) in names]
    devices = [options.device] if options.device else list(DEVICES) if options.all else ["cpu"]
    tests = [test_of(f, k, d) for d in devices for f, k in chosen]
    return run_tests(tests, "hone_families_", lambda folder: World(hone, folder, options.all, 0))


if __name__ == "__main__":
    sys.exit(main())
