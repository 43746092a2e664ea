#!/usr/bin/env python3
# fast
"""A run obeys the memory of its container, which no flag says, and is never killed for it.

    tests/faults/container.py --hone build/hone

In memory groups (cgroup version 1 or 2) of several sizes a run trains, evaluates, generates and saves; it plans
within what the group leaves it, or is refused before the first step. Then what is hard to fit: rows of text that
are larger than the group, weights whose largest tensor is, where weights are on disk, and flags that ask for
more than the group has. Skips (77) where no group can be made.
"""
import argparse
import json
import os
import random
import re
import shutil
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
import limited_run  # noqa: E402
from checks import Fault, demand, disk_folder  # noqa: E402

GOLDENS = os.path.join(SOURCE, "tests", "goldens")
MIB = 1 << 20
WORDS = "the cat sat on mat and dog lay rug for it was late house still when rain came river rose over fields".split()


class Container:
    def __init__(self, hone, folder):
        self.hone, self.folder = hone, folder
        rng = random.Random(1)
        text = lambda low, high: " ".join(rng.choices(WORDS, k=rng.randint(low, high)))
        with open(self.path("pairs.jsonl"), "w") as f:
            f.writelines(json.dumps({"text": text(20, 60), "summary": text(4, 12)}) + "\n" for _ in range(60))
        with open(self.path("t.txt"), "w") as f:
            f.writelines(text(20, 60) + "\n" for _ in range(200))
        with open(self.path("bart.json"), "w") as f:
            json.dump({"model_type": "bart", "vocab_size": 2000, "d_model": 256, "max_position_embeddings": 256,
                       **{f"{side}_{key}": value for side in ("encoder", "decoder")
                          for key, value in (("layers", 3), ("attention_heads", 4), ("ffn_dim", 512))}}, f)
        with open(self.path("wide.json"), "w") as f:  # an embedding of 137 MiB, and as much again for the head
            json.dump({"model_type": "llama", "hidden_size": 512, "intermediate_size": 512, "num_hidden_layers": 1, "num_attention_heads": 4,
                       "vocab_size": 70000, "max_position_embeddings": 64, "tie_word_embeddings": False}, f)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def run(self, mebibytes, *flags):
        shutil.rmtree(self.path("out"), ignore_errors=True)
        done = limited_run.run([self.hone, "train", *flags, "--do_train", "--max_steps", "2", "--output_dir", "out"], self.folder, mebibytes * MIB)
        demand(not done.killed and done.status in (0, 1), f"in {mebibytes} MiB: status {done.status}, killed {done.killed}\n{done.text}")
        codes = re.findall(r"^(H\d{4})  ", done.text, re.M)
        demand(len(codes) == (done.status == 1), f"in {mebibytes} MiB: errors {codes}\n{done.text}")
        return done, codes

    def sizes(self):
        """Small ones are refused, larger ones take smaller micro-batches, the largest takes all rows at once."""
        kinds = []
        for mebibytes in 200, 216, 240, 280, 330, 420, 600:
            done, codes = self.run(mebibytes, "--task", "summarization", "--config_name", "bart.json", "--tokenizer_name", GOLDENS + "/pairs/bart",
                                   "--train_file", "pairs.jsonl", "--validation_file", "pairs.jsonl", "--do_eval", "--predict_with_generate",
                                   "--max_eval_samples", "4", "--num_beams", "2", "--max_source_length", "128", "--max_target_length", "16",
                                   "--per_device_train_batch_size", "16", "--per_device_eval_batch_size", "4", "--save_steps", "1")
            demand(codes in ([], ["H2404"]), f"in {mebibytes} MiB: {codes}\n{done.text}")
            rows = re.search(r"^microbatch  (\d+) row", done.text, re.M)
            kinds.append(int(rows.group(1)) if done.status == 0 else 0)
        demand(kinds == sorted(kinds) and kinds[0] == 0 and kinds[-1] == 16, f"rows of a micro-batch: {kinds}")

    def more_than_the_container(self):
        done, codes = self.run(300, "--task", "clm", "--model_name_or_path", GOLDENS + "/tiny_text_gpt2", "--train_file", "t.txt", "--block_size", "32",
                               "--device_memory", "2GiB")
        demand(codes == ["H2404"] and "300.0 MiB that this machine has" in done.text, done.text)

    def rows(self):
        rng = random.Random(2)
        some = ["".join(" ".join(rng.choices(WORDS, k=16)) + "\n" for _ in range(1000)) for _ in range(20)]
        with open(self.path("big.txt"), "w") as f:
            for i in range(900):
                f.write(some[i % 20])
        flags = ("--task", "clm", "--model_name_or_path", GOLDENS + "/tiny_text_gpt2", "--train_file", "big.txt", "--block_size", "32",
                 "--validation_split_percentage", "0")
        for mebibytes, code in (180, "H2117"), (240, "H2404"):  # the rows do not fit; they leave no room for the arena
            done, codes = self.run(mebibytes, *flags)
            demand(codes == [code] and "--streaming" in done.text, done.text)
        done, codes = self.run(240, *flags, "--streaming")
        demand(not codes, done.text)
        done, codes = self.run(1000, *flags, "--verbose")  # their memory is not the arena's
        demand(not codes and re.search(r"^memory +rows +\S+ MiB", done.text, re.M), done.text)
        os.remove(self.path("big.txt"))

    def large_tensors(self):
        flags = ("--task", "clm", "--tokenizer_name", GOLDENS + "/tiny_text_gpt2", "--train_file", "t.txt", "--block_size", "16",
                 "--per_device_train_batch_size", "1", "--optim", "sgd", "--max_grad_norm", "0", "--gradient_checkpointing",
                 "--offload_param_device", "nvme", "--offload_gradient_device", "nvme")
        done, codes = self.run(20000, "--config_name", "wide.json", *flags)
        demand(not codes, done.text)
        planned = json.load(open(self.path("out", "train_results.json")))["memory_planned_bytes"] // MIB
        os.rename(self.path("out"), self.path("wide"))
        for model in (("--config_name", "wide.json"), ("--model_name_or_path", "wide")):
            done, codes = self.run(planned + 206, *model, *flags)
            demand(not codes, f"planned {planned} MiB\n{done.text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--only")
    options = parser.parse_args()
    probe = limited_run.MemoryGroup(64 * MIB)
    probe.close()
    if not probe.version:
        print("no memory group can be made here")
        return 77
    folder = disk_folder("hone_container_")
    wrong = 0
    try:
        c = Container(os.path.abspath(options.hone), folder)
        for what in c.sizes, c.more_than_the_container, c.rows, c.large_tensors:
            if options.only not in (None, what.__name__):
                continue
            try:
                what()
                print(f"{what.__name__:<24} ok", flush=True)
            except Fault as e:
                wrong += 1
                print(f"{what.__name__:<24} {e}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
