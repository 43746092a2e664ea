#!/usr/bin/env python3
# fast
# nightly: --count 200
"""A run never dies of memory: random configurations under random limits.

    tests/faults/bounded.py --hone build/hone [--count 10] [--seed N] [--only I] [--keep]

Each configuration (family and sizes, task, batch, lengths, accumulation, recompute, what is offloaded where,
precision, adapter, optimizer, clipping, streaming, evaluation, saving, threads, a DeepSpeed file) runs under
a random --device_memory or --host_memory or both, in a memory group whose limit they are. Demanded:

  it is refused before the first step, by H2404, with a remedy; each remedy, typed as printed, runs to its end;
  or it runs to its end inside the limit, and
    the arenas hold what the plan says, RssAnon + RssShmem less its value before them is the plan within
    1 % + 16 MiB, the runtime stays within 192 MiB, and nothing is left of what was offloaded.

Configuration I of a seed is always the same.
"""
import argparse
import functools
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
import limited_run  # noqa: E402
from checks import disk_folder  # noqa: E402

GOLDENS = os.path.join(SOURCE, "tests", "goldens")
MIB = 1 << 20
BUDGET = 192 * MIB
WORDS = ("the cat sat on mat and dog lay rug for it was late house still when rain came river "
         "rose over fields men of village took boats she read letter twice").split()


def mebibytes(text):
    """Of "1.5 GiB"."""
    number, unit = text.split()
    return float(number) * {"B": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 2**10}[unit]


class Wrong(Exception):
    pass


def data(folder):
    rng = random.Random(3)
    text = lambda low, high: " ".join(rng.choices(WORDS, k=rng.randint(low, high)))
    with open(os.path.join(folder, "t.txt"), "w") as f:
        f.writelines(text(5, 40) + "\n" for _ in range(300))
    with open(os.path.join(folder, "labels.jsonl"), "w") as f:
        f.writelines(json.dumps({"sentence1": text(3, 20), "sentence2": text(3, 20), "label": rng.choice(["yes", "no", "maybe"])}) + "\n"
                     for _ in range(80))
    with open(os.path.join(folder, "pairs.jsonl"), "w") as f:
        f.writelines(json.dumps({"text": text(8, 60), "summary": text(2, 12)}) + "\n" for _ in range(80))
    with open(os.path.join(folder, "words.jsonl"), "w") as f:
        for _ in range(80):
            words = text(3, 20).split()
            f.write(json.dumps({"tokens": words, "ner_tags": [rng.choice(["O", "B-PER", "I-PER"]) for _ in words]}) + "\n")


def model_of(rng, family):
    """config.json of a small model, and the folder of its tokenizer."""
    heads, head = rng.randint(1, 6), rng.choice([8, 16, 32, 64])
    width, layers, vocab = heads * head, rng.randint(1, 5), rng.choice([700, 2000, 6000])
    dropout = rng.choice([0.0, 0.1])
    if family == "gpt2":
        return {"model_type": "gpt2", "n_embd": width, "n_layer": layers, "n_head": heads, "n_positions": 512, "vocab_size": vocab,
                "activation_function": "gelu_new", "attn_pdrop": dropout, "embd_pdrop": dropout, "resid_pdrop": dropout}, "tiny_text_gpt2"
    if family in ("llama", "qwen2", "qwen3", "mistral"):
        config = {"model_type": family, "hidden_size": width, "intermediate_size": 8 * rng.randint(2, 60), "num_hidden_layers": layers,
                  "num_attention_heads": heads, "num_key_value_heads": heads if heads % 2 else heads // 2, "head_dim": head,
                  "vocab_size": vocab, "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "hidden_act": "silu",
                  "tie_word_embeddings": rng.random() < 0.5}
        if family == "mistral":
            config["sliding_window"] = rng.choice([16, 64, None])
        return config, "tiny_text_gpt2"
    if family in ("bert", "roberta"):
        config = {"model_type": family, "vocab_size": vocab, "hidden_size": width, "num_hidden_layers": layers,
                  "num_attention_heads": heads, "intermediate_size": 8 * rng.randint(2, 60), "max_position_embeddings": 514,
                  "type_vocab_size": 2, "hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout, "pad_token_id": 1}
        return config, "classification/" + family
    if family == "bart":
        return {"model_type": "bart", "vocab_size": vocab, "d_model": width, "max_position_embeddings": 512, "dropout": dropout,
                **{f"{side}_{key}": value for side in ("encoder", "decoder")
                   for key, value in (("layers", layers), ("attention_heads", heads), ("ffn_dim", width * 2))}}, "pairs/bart"
    return {"model_type": "t5", "vocab_size": vocab, "d_model": width, "d_kv": head, "num_heads": heads, "num_layers": layers,
            "num_decoder_layers": rng.randint(1, layers), "d_ff": width * 2, "dropout_rate": dropout,
            "decoder_start_token_id": 0}, "pairs/t5"


FAMILIES = {"clm": ["gpt2", "gpt2", "llama", "qwen2", "qwen3", "mistral"], "mlm": ["bert", "roberta"],
            "classification": ["bert", "roberta"], "ner": ["bert", "roberta"], "summarization": ["t5", "bart"]}


def targets_of(optimizer):
    return {"optim_target_modules": "all-linear"} if optimizer.startswith("apollo") else {}


class Features:
    """The optimizers of this program."""

    def __init__(self, hone):
        self.hone = hone
        help_text = subprocess.run([hone, "train", "--task", "clm", "--help", "all"], capture_output=True, text=True, check=True).stdout
        choices = re.search(r"^ +--optim .*?one of (.*?)\[", help_text, re.S | re.M).group(1)
        self.optimizers = re.sub(r"\s", "", choices).split(",")

    @functools.cache
    def updates_bf16(self, optimizer):
        """Whether it updates weights that are kept in bfloat16."""
        done = subprocess.run([self.hone, "plan", "--task", "clm", "--config_name", os.path.join(GOLDENS, "tiny_text_gpt2", "config.json"),
                               "--dtype", "bfloat16", *typed({**targets_of(optimizer), "optim": optimizer})], capture_output=True, text=True)
        if done.returncode and "does not update weights in bfloat16" not in done.stderr:
            raise Wrong(f"{optimizer}: {done.stderr}")
        return done.returncode == 0


class Drawn:
    """Configuration number `number` of a seed: its flags, its files and its limits as shares of what it needs."""

    def __init__(self, seed, number, features):
        rng = random.Random(f"{seed}/{number}")
        self.task = rng.choice(["clm", "clm", "clm", "mlm", "classification", "ner", "summarization", "summarization"])
        family = rng.choice(FAMILIES[self.task])
        self.config, tokenizer = model_of(rng, family)
        self.saved_model = rng.random() < 0.3  # its weights are loaded
        flags = self.flags = {"task": self.task, "tokenizer_name": os.path.join(GOLDENS, tokenizer)}
        length = rng.choice([16, 32, 50, 64, 128, 256])
        files = {"clm": "t.txt", "mlm": "t.txt", "classification": "labels.jsonl", "ner": "words.jsonl", "summarization": "pairs.jsonl"}
        flags["train_file"] = files[self.task]
        if self.task == "clm":
            flags["block_size"] = length
            flags["packing"] = rng.random() < 0.4
        elif self.task == "summarization":
            flags.update(max_source_length=length, max_target_length=rng.choice([8, 16, 32]))
        else:
            flags["max_seq_length"] = length
        if self.task == "mlm":
            flags["line_by_line"] = rng.random() < 0.5
        flags.update(per_device_train_batch_size=rng.randint(1, 8), gradient_accumulation_steps=rng.choice([1, 1, 2, 3]),
                     max_steps=3, threads=rng.randint(1, 3), logging_steps=1, optim=rng.choice(features.optimizers),
                     max_grad_norm=rng.choice([0, 1.0]))
        flags.update(targets_of(flags["optim"]))
        self.draw_placement(rng)
        precision = rng.choice(["", "", "bf16", "fp16"])
        if precision:
            flags[precision] = True
        if rng.random() < 0.25:
            flags.update(use_peft=True, lora_r=rng.choice([1, 4, 16]), use_dora=rng.random() < 0.3)
            if self.task == "clm" or rng.random() < 0.5:
                flags["lora_target_modules"] = "all-linear"
        if rng.random() < 0.4:
            flags.update(do_eval=True, validation_file=flags["train_file"], max_eval_samples=6, per_device_eval_batch_size=rng.randint(1, 8))
            if rng.random() < 0.5:
                flags.update(eval_strategy="steps", eval_steps=2)
            if self.task == "summarization":
                flags.update(predict_with_generate=rng.random() < 0.7, num_beams=rng.choice([1, 1, 3]))
        if self.task in ("clm", "mlm") and rng.random() < 0.2:
            flags.update(streaming=True, buffer_size=rng.choice([10, 100]))
        flags["save_strategy"] = rng.choice(["no", "steps"])
        if flags["save_strategy"] == "steps":
            flags.update(save_steps=2, save_total_limit=1)
        if rng.random() < 0.15:
            flags["device"] = "far"
        if rng.random() < 0.15 and not flags["optim"].startswith("schedule_free"):
            flags["auto"] = True
        self.draw_numbers(rng, precision, features)
        self.share = {"device": rng.uniform(0.1, 1.3), "host": rng.uniform(0.1, 1.3)}
        self.limits = rng.choice([("device",), ("device",), ("host",), ("device", "host")])

    def draw_numbers(self, rng, precision, features):
        """What numbers are kept as, besides --bf16 and --fp16."""
        flags = self.flags
        if precision == "fp16" and rng.random() < 0.5:
            flags["loss_scale"] = rng.choice([0, 1, 1024])
        if precision and rng.random() < 0.3:
            flags["grad_accum_dtype"] = rng.choice(["fp32", precision])
        if not precision and rng.random() < 0.3 and features.updates_bf16(flags["optim"]):
            flags["dtype"] = "bfloat16"
        if rng.random() < 0.3:
            flags["non_finite"] = rng.choice(["skip", "stop", "rollback"])
        if flags.get("use_peft") and self.task == "clm" and rng.random() < 0.6:
            flags[rng.choice(["load_in_4bit", "load_in_4bit", "load_in_8bit"])] = True
            if "load_in_4bit" in flags:
                flags.update(bnb_4bit_quant_type=rng.choice(["nf4", "fp4"]), bnb_4bit_use_double_quant=rng.random() < 0.5)

    def draw_placement(self, rng):
        flags = self.flags
        recompute = rng.choice(["", "", "blocks", "share"])
        if recompute == "blocks":
            flags["gradient_checkpointing"] = True
        if recompute == "share":
            flags["activation_memory_budget"] = rng.choice([0, 0.3, 0.5, 0.8])
        homes = ["none", "none", "cpu", "nvme"]
        self.deepspeed = None
        averages = flags["optim"].startswith("schedule_free")  # its states stay on the device, on one rank
        if rng.random() < 0.15 and not averages:
            zero = {"stage": 3, "offload_optimizer": {"device": rng.choice(homes[1:])}, "offload_param": {"device": rng.choice(homes[1:])}}
            self.deepspeed = {"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": "auto",
                              "gradient_clipping": "auto", "zero_optimization": zero}
            flags["deepspeed"] = "ds_config.json"
        elif rng.random() < 0.7:
            for what in ("param", "gradient", "activation") if averages else ("optimizer", "param", "gradient", "activation"):
                home = rng.choice(homes)
                if home != "none":
                    flags[f"offload_{what}_device"] = home
            flags["offload_persistence_threshold"] = rng.choice([0, 100, 100000])
        flags["offload_optimizer_nvme_path"] = "offloaded"


def typed(flags):
    """As a shell would get them."""
    argv = []
    for name, value in flags.items():
        if value is True:
            argv.append("--" + name)
        elif value is not False:
            argv += ["--" + name, str(value)]
    return argv


class Bounded:
    def __init__(self, hone, folder):
        self.hone, self.folder = hone, folder
        self.features = Features(hone)
        self.group, self.refused, self.tried = "", 0, 0

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def clean(self):
        for name in ("out", "offloaded"):
            shutil.rmtree(self.path(name), ignore_errors=True)

    def need(self, flags):
        """Bytes by space that the run would take without a limit."""
        skip = ("do_train", "output_dir", "auto", "logging_steps")
        done = subprocess.run([self.hone, "plan", *typed({k: v for k, v in flags.items() if k not in skip}), "--device_memory", "200GiB", "--json"],
                              cwd=self.folder, capture_output=True, text=True)
        try:
            return json.loads(done.stdout)["peak_bytes"]
        except (ValueError, KeyError):
            raise Wrong(f"hone plan: status {done.returncode}\n{done.stdout[-500:]}{done.stderr}")

    def train(self, flags):
        """Runs in a group whose limit is that of the flags."""
        self.clean()
        limit = sum(int(flags[k][:-3]) * MIB for k in ("device_memory", "host_memory") if k in flags)
        self.argv = [self.hone, "train", *typed(flags)]
        done = limited_run.run(self.argv, self.folder, limit)
        self.group = done.group
        if done.killed or done.status == -9:
            raise Wrong(f"killed by the kernel in a group of {limit / MIB:.0f} MiB\n{done.text}")
        if done.most_bytes > limit:
            raise Wrong(f"held {done.most_bytes / MIB:.1f} MiB of {limit / MIB:.0f}\n{done.text}")
        return done

    def expect_end(self, done):
        if done.status != 0:
            raise Wrong(f"status {done.status}\n{done.text}")
        with open(self.path("out", "train_results.json")) as f:
            r = json.load(f)
        planned, measured, runtime = (r[f"memory_{k}_bytes"] for k in ("planned", "measured", "runtime"))
        allowed = planned // 100 + 16 * MIB
        if abs(measured - planned) > allowed:
            raise Wrong(f"measured {measured - planned:+,} bytes from the plan of {planned:,}, allowed {allowed:,}\n{done.text}")
        if done.most_bytes - runtime - planned > allowed and done.most_bytes - planned > BUDGET:
            raise Wrong(f"held {done.most_bytes - planned:,} bytes beside the arenas, the budget is {BUDGET:,}\n{done.text}")
        line = re.search(r"^memory +arena (.*) as planned, (?:(.*) on the device, (.*)|(.*) of it) in memory; runtime (\S+) MiB of",
                         done.text, re.M)
        held = sum(mebibytes(part) for part in line.groups()[1:4] if part) if line else -1
        if not line or abs(mebibytes(line.group(1)) - held) > 0.11:  # figures have one digit
            raise Wrong(f"the arenas are not in memory as planned\n{done.text}")
        # The memory of the device `far` is this process's too.
        apart = mebibytes(line.group(2)) if "far" in self.argv else 0
        if (float(line.group(5)) - apart) * MIB > BUDGET or runtime > BUDGET:
            raise Wrong(f"the runtime took {line.group(5)} MiB\n{done.text}")
        if os.path.isdir(self.path("offloaded")) and os.listdir(self.path("offloaded")):
            raise Wrong(f"left in the offload folder: {os.listdir(self.path('offloaded'))}")
        return f"planned {planned / MIB:.0f}, measured {(measured - planned) / MIB:+.1f}, most {done.most_bytes / MIB:.0f}"

    def expect_refusal(self, flags, done):
        """H2404 before the first step; its remedies run."""
        codes = re.findall(r"^(H\d{4})  ", done.text, re.M)
        if done.status != 1 or codes != ["H2404"]:
            raise Wrong(f"status {done.status}, errors {codes}\n{done.text}")
        if re.search(r"^train +step ", done.text, re.M) or os.path.exists(self.path("out", "train_results.json")):
            raise Wrong(f"refused after a step\n{done.text}")
        remedy = re.search(r"^  do   (.*)", done.text, re.M)
        remedies = []
        if "taken out of the --deepspeed file" in done.text:
            with open(self.path("ds_config.json")) as f:
                config = json.load(f)
            for key in "offload_optimizer", "offload_param":
                config["zero_optimization"].pop(key)
        if remedy and (found := re.match(r"(--.*?) fits(?:, with .*?)?; or ", remedy.group(1))):
            remedies.append(found.group(1))
        if remedy and (found := re.search(r"\bgive (--(?:device|host)_memory [^,]*)", remedy.group(1))):
            remedies.append(found.group(1))
        if not remedies:
            raise Wrong(f"refused without a configuration that fits\n{done.text}")
        for text in remedies:
            words, more = shlex.split(text), {}
            while words:
                name = words.pop(0).lstrip("-")
                more[name] = words.pop(0) if words and not words[0].startswith("--") else True
            if "taken out of the --deepspeed file" in done.text and "device_memory" not in more and "host_memory" not in more:
                with open(self.path("ds_config.json"), "w") as f:
                    json.dump(config, f)
            again = self.train({**flags, **more})
            with open(self.path("ds_config.json"), "w") as f:
                json.dump(self.deepspeed, f)
            if again.status != 0:
                raise Wrong(f"refused with the remedy '{text}', which does not run:\n{done.text}\n{again.text}")
            try:
                self.expect_end(again)
            except Wrong as e:
                raise Wrong(f"with the remedy '{text}': {e}")
        self.refused += 1
        return "refused: " + "; ".join(remedies)

    def one(self, drawn):
        self.clean()
        flags = dict(drawn.flags)
        with open(self.path("config.json"), "w") as f:
            json.dump(drawn.config, f)
        self.deepspeed = drawn.deepspeed
        if drawn.deepspeed:
            with open(self.path("ds_config.json"), "w") as f:
                json.dump(drawn.deepspeed, f)
        shutil.rmtree(self.path("model"), ignore_errors=True)
        flags["config_name"] = "config.json"
        if drawn.saved_model:
            keep = ("task", "tokenizer_name", "train_file", "config_name")
            done = subprocess.run([self.hone, "train", *typed({k: v for k, v in flags.items() if k in keep}), "--do_train", "--num_train_epochs", "0",
                                   "--output_dir", "model"], cwd=self.folder, capture_output=True, text=True)
            if done.returncode != 0:
                raise Wrong(f"no model could be made: {done.stderr}")
            flags["model_name_or_path"] = "model"
            del flags["config_name"]
        need = self.need(flags)
        flags["do_train"], flags["output_dir"] = True, "out"
        share = lambda space, bytes_: max(int((BUDGET if space == "host" else 0) + bytes_ * drawn.share[space]) // MIB, 1)
        arenas = need["device"] + need["host"] - BUDGET
        if len(drawn.limits) == 2:
            flags["device_memory"] = f"{share('device', max(arenas, 4 * MIB))}MiB"
            flags["host_memory"] = f"{share('host', max(arenas, 4 * MIB) // 2)}MiB"
        else:
            flags[drawn.limits[0] + "_memory"] = f"{BUDGET // MIB + share('device', max(arenas, 8 * MIB))}MiB"
        done = self.train(flags)
        said = " ".join(typed({k: v for k, v in flags.items() if k.startswith(("dev", "host", "off", "opt", "bf", "fp", "use", "per", "grad", "str", "pre", "act", "deep", "auto", "back", "dty", "load"))}))
        name = f"{drawn.config['model_type']} {drawn.task} {said}"
        return name, self.expect_end(done) if done.status == 0 else self.expect_refusal(flags, done)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--only", type=int, help="this configuration alone")
    parser.add_argument("--keep", action="store_true", help="do not stop at the first that is wrong, and keep the last folder")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    folder = disk_folder("hone_bounded_")
    wrong = 0
    try:
        data(folder)
        b = Bounded(os.path.abspath(options.hone), folder)
        for number in range(options.count) if options.only is None else [options.only]:
            drawn = Drawn(options.seed, number, b.features)
            try:
                name, said = b.one(drawn)
                b.tried += 1
                print(f"{number:>3} {name}: {said}", flush=True)
            except Wrong as e:
                wrong += 1
                print(f"{number:>3} --seed {options.seed} --only {number}: {' '.join(map(shlex.quote, getattr(b, 'argv', [])))}\n{e}", flush=True)
                if not options.keep:
                    return 1
        print(f"{b.tried} configurations, {b.refused} refused with remedies that run; limits held by "
              f"{'the kernel, memory group ' + b.group if b.group else '/proc, as no memory group can be made here'}")
    finally:
        if options.keep:
            print(f"kept {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
