#!/usr/bin/env python3
# nightly: --all
"""One training run on several ranks: the numbers of one rank, and no fault that hangs or spoils it.

    tests/faults/ranks.py --hone build/hone [--all] [--seed N] [TEST...]

Each rank is a process of `hone train` with torchrun's variables. The tests have the numbers of the rules that they hold. Losses may differ from those of one rank by the order of float32 sums alone; the bounds are those
of docs/design/accumulation.md. Without --all some worlds, ZeRO stages and tasks are left out.
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import placement_bits
from placement_bits import GOLDENS, SOURCE

sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from checks import Fault, Skipped, demand, free_port  # noqa: E402

STEPS = 6
ROWS = 12  # of a step of all ranks
FIRST, LATER = 1e-6, 5e-6  # relative differences: of the first loss and norm, of any later loss
PATIENCE = 120 * float(os.environ.get("HONE_TIMES_SLOWER", 1))  # seconds until a run counts as hung


def with_flags(argv, flags):
    """The command with these values of flags, in place of others."""
    argv = list(argv)
    for flag, value in zip(flags[::2], flags[1::2]):
        if flag in argv:
            argv[argv.index(flag) + 1] = value
        else:
            argv += [flag, value]
    return argv


class World:
    def __init__(self, hone, folder, everything, seed):
        self.hone, self.folder, self.all, self.seed = hone, folder, everything, seed

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def command(self, model, out, ranks, *more, accumulation=1):
        row = {**placement_bits.PLAIN, "model": model, "accumulation": accumulation, "precision": "", "adapter": "", "optim": "adamw_torch",
               "max_grad_norm": 1.0}
        argv = placement_bits.command(self.hone, row, out)
        rows = ROWS // accumulation // ranks
        argv = with_flags(argv, ["--per_device_train_batch_size", str(rows), "--max_steps", str(STEPS), "--learning_rate", "0.001"])
        return with_flags(argv, more)

    def start(self, ranks, argv, of_rank=lambda rank: [], folder_of=lambda rank: None):
        port = free_port()
        processes = []
        for rank in range(ranks):
            env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks),
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            log = open(self.path(f"log.{rank}"), "w")
            processes.append(subprocess.Popen(with_flags(argv, of_rank(rank)), cwd=folder_of(rank) or self.folder, stdin=subprocess.DEVNULL,
                                              stdout=log, stderr=log, env=env if ranks > 1 else None))
        return processes

    def base_model(self):
        """Folders of models with random weights, by name."""
        folders = {}
        for model in ("gpt2", "llama"):
            folders[model] = self.path("base_" + model)
            if not os.path.exists(folders[model]):
                self.run(1, self.command(model, folders[model], 1, "--max_steps", "1"))
        return folders

    def log(self, rank):
        with open(self.path(f"log.{rank}")) as f:
            return f.read()

    def wait(self, processes):
        """The exit statuses; a run that hangs is a fault."""
        end = time.time() + PATIENCE
        while any(p.poll() is None for p in processes):
            # A launcher ends the ranks that wait for one that ended before all had joined.
            if any(p.poll() is not None for p in processes) and not self.log(0).startswith("rank  "):
                for p in processes:
                    p.kill()
            if time.time() > end:
                ended = [p.poll() for p in processes]
                for p in processes:
                    p.kill()
                raise Fault(f"the run hangs: {ended}\n" + "\n".join(f"rank {k}:\n{self.log(k)}" for k in range(len(processes))))
            time.sleep(0.01)
        return [p.returncode for p in processes]

    def run(self, ranks, argv):
        statuses = self.wait(self.start(ranks, argv))
        demand(statuses == [0] * ranks, f"{' '.join(argv)}\nstatuses {statuses}\n" + "\n".join(self.log(k) for k in range(ranks)))

    def until(self, processes, text):
        end = time.time() + PATIENCE
        while text not in self.log(0) and time.time() < end and processes[0].poll() is None:
            time.sleep(0.005)
        demand(text in self.log(0), f"rank 0 did not print '{text}':\n{self.log(0)}")

    def losses(self, out):
        with open(self.path(out, "trainer_state.json")) as f:
            return [(e["loss"], e["grad_norm"]) for e in json.load(f)["log_history"] if "loss" in e]

    def results(self, out, name):
        with open(self.path(out, name)) as f:
            return {k: v for k, v in json.load(f).items() if not k.endswith(("runtime", "per_second"))}

    def all_weights(self, out):
        found = {}
        for name in sorted(os.listdir(self.path(out))):
            if name.endswith(".safetensors"):
                with open(self.path(out, name), "rb") as f:
                    found[name] = f.read()
        return found

    def tensors(self, folder, stem):
        """Every tensor of the files of that stem, its ranges joined, as bytes by name."""
        parts = {}
        for name in os.listdir(self.path(folder)):
            if not (name.startswith(stem) and name.endswith(".safetensors")):
                continue
            with open(self.path(folder, name), "rb") as f:
                header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
                begin = f.tell()
                for tensor, at in header.items():
                    if tensor == "__metadata__":
                        continue
                    whole, _, rows = tensor.partition("[")
                    f.seek(begin + at["data_offsets"][0])
                    parts.setdefault(whole, []).append((int(rows.split(":")[0] or 0) if rows else 0, f.read(at["data_offsets"][1] - at["data_offsets"][0])))
        return {name: b"".join(data for _, data in sorted(some)) for name, some in parts.items()}

    def with_output(self, argv, out):
        return with_flags(argv, ["--output_dir", out])


def close(found, wanted, what, later=LATER):
    demand(len(found) == len(wanted), f"{what}: {len(found)} losses, {len(wanted)} wanted")
    for step, (a, b) in enumerate(zip(found, wanted)):
        bound = FIRST if step == 0 and later == LATER else later
        demand(abs(a[0] - b[0]) <= bound * abs(b[0]), f"{what}: loss {a[0]!r} of step {step + 1}, {b[0]!r} on one rank")
        demand(step > 0 or abs(a[1] - b[1]) <= 2 * bound * abs(b[1]), f"{what}: norm {a[1]!r} of step {step + 1}, {b[1]!r} on one rank")


def rule_17_losses_do_not_depend_on_the_world(w):
    """Labels, tokens and dropout of a step are those of its rows; the ranks of t5 and bert have unequal numbers of them."""
    for model in ("gpt2", "llama", "bert", "t5"):
        for accumulation in (1, 2):
            w.run(1, w.command(model, "one", 1, accumulation=accumulation))
            wanted = w.losses("one")
            worlds = [(2, 0), (2, 1), (2, 2), (3, 0), (3, 2), (4, 1), (2, 3), (3, 3)] if w.all else [(2, 0), (3, 1), (2, 2)] if model in ("llama", "t5") else [(2, 1)]
            for ranks, stage in worlds:
                if ROWS // accumulation % ranks:
                    continue
                out = "many"
                w.run(ranks, w.command(model, out, ranks, "--zero_stage", str(stage), accumulation=accumulation))
                close(w.losses(out), wanted, f"{model}, {ranks} ranks, ZeRO {stage}, accumulation {accumulation}")
                shutil.rmtree(w.path(out))
            shutil.rmtree(w.path("one"))


def rule_17_losses_do_not_depend_on_the_mesh(w):
    """Heads and columns divided between two ranks, with and without rows divided too; dropout's masks are those of one rank. A checkpoint of a mesh
    continues on one rank and on another mesh, and the folder of the model is whole."""
    lora = ["--use_peft", "true", "--lora_r", "4", "--lora_target_modules", "all-linear"]
    for model in ("gpt2", "llama", "bert", "t5"):
        for kind, flags in (("plain", []), ("lora", lora)):
            flags = ["--max_steps", "20", "--save_steps", "10", *flags] if w.all else ["--save_steps", "3", *flags]
            for accumulation in (1, 2) if w.all else (1 if kind == "plain" else 2,):
                w.run(1, w.command(model, "one", 1, *flags, accumulation=accumulation))
                wanted = w.losses("one")
                meshes = [("tensor=2", 2, 0)] + [("data=2,tensor=2", 4, stage) for stage in range(4)]
                if not w.all:
                    meshes = {"gpt2": [meshes[0], meshes[4]], "llama": [meshes[0], meshes[2]], "bert": meshes[:1], "t5": [meshes[3]]}[model]
                for mesh, ranks, stage in meshes:
                    what = f"{model}, {kind}, {mesh}, ZeRO {stage}, accumulation {accumulation}"
                    data = ranks // 2
                    w.run(ranks, w.command(model, "many", data, "--mesh", mesh, "--zero_stage", str(stage), *flags, accumulation=accumulation))
                    close(w.losses("many"), wanted, what)
                    middle = "checkpoint-10" if w.all else "checkpoint-3"
                    for others, more in ((1, []), (2, ["--zero_stage", "3"]), (2, ["--mesh", "tensor=2"])) if w.all or model == "gpt2" else ((1, []),):
                        shutil.copytree(w.path("many", middle), w.path("then", middle))
                        data = 1 if "--mesh" in more else others
                        w.run(others, w.command(model, "then", data, *more, *flags, accumulation=accumulation))
                        close(w.losses("then"), wanted, f"{what}, then {others} ranks {more}")
                        shutil.rmtree(w.path("then"))
                    final = "adapter_model" if kind == "lora" else "model"
                    shapes = lambda out: {n: len(b) for n, b in w.tensors(out, final).items()}
                    demand(shapes("many") == shapes("one"), f"{what}: {shapes('many')}, {shapes('one')} of one rank")
                    demand(not any(n.startswith("ranges") for n in os.listdir(w.path("many"))), "ranges are left")
                    shutil.rmtree(w.path("many"))
                shutil.rmtree(w.path("one"))


def rule_17_words_divided_among_ranks(w):
    """The table of words and the head of a mesh, tied or not, with and without a bias and label smoothing, and DeBERTa's attention: losses, evaluations and
    the saved folder."""
    with open(w.path("llama.json")) as f:
        config = {**json.load(f), "tie_word_embeddings": False}
    with open(w.path("untied.json"), "w") as f:
        json.dump(config, f)
    evaluates = ["--do_eval", "true", "--validation_split_percentage", "20", "--per_device_eval_batch_size", "2"]
    mlm = with_flags([w.hone, "train", "--task", "mlm", "--model_name_or_path", GOLDENS + "/mlm/bert_tiny", "--train_file", "t.txt", "--max_seq_length", "24",
                      "--line_by_line", "--do_train", "--logging_steps", "1", "--threads", "1"], evaluates)
    for version in ("deberta", "deberta_v2"):
        with open(f"{GOLDENS}/encoders/{version}_masked_lm/config.json") as f:
            config = {**json.load(f), "vocab_size": 104, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
        with open(w.path(version + ".json"), "w") as f:
            json.dump(config, f)
    scratch = [a for a in mlm if a not in ("--model_name_or_path", GOLDENS + "/mlm/bert_tiny")] + ["--tokenizer_name", GOLDENS + "/mlm/bert_tiny"]
    tests = {"untied": (with_flags(w.command("llama", "", 1), ["--config_name", "untied.json", *evaluates]), "model"),
             "mlm": (mlm, "model"),
             "deberta": ([*scratch, "--config_name", "deberta.json"], "model"),
             "deberta_v2": ([*scratch, "--config_name", "deberta_v2.json"], "model"),
             "smoothed": (w.command("t5", "", 1, "--label_smoothing_factor", "0.1"), "model"),
             "lora": (w.command("gpt2", "", 1, "--use_peft", "true", "--lora_r", "4", *evaluates), "adapter_model")}
    for name, (argv, final) in tests.items():
        steps = "20" if w.all else "4"
        command = lambda out, data, *more: with_flags(argv, ["--output_dir", out, "--per_device_train_batch_size", str(12 // data), "--max_steps", steps,
                                                             "--learning_rate", "0.0003", "--gradient_accumulation_steps", "1", *more])
        w.run(1, command("one", 1))
        for mesh, ranks, stage in [("tensor=2", 2, 0), ("data=2,tensor=2", 4, 1), ("data=2,tensor=2", 4, 3)] if w.all or name == "untied" else [("tensor=2", 2, 0)]:
            what = f"{name}, {mesh}, ZeRO {stage}"
            w.run(ranks, command("many", ranks // 2, "--mesh", mesh, "--zero_stage", str(stage)))
            close(w.losses("many"), w.losses("one"), what, FIRST)
            shapes = lambda out: {n: len(b) for n, b in w.tensors(out, final).items()}
            demand(shapes("many") == shapes("one"), f"{what}: {shapes('many')}, {shapes('one')} of one rank")
            if "--do_eval" in argv:
                found, wanted = w.results("many", "eval_results.json"), w.results("one", "eval_results.json")
                demand("eval_accuracy" in wanted and found["eval_accuracy"] == wanted["eval_accuracy"], f"{what}: {found}, {wanted} on one rank")
                demand(abs(found["eval_loss"] - wanted["eval_loss"]) <= FIRST * wanted["eval_loss"], f"{what}: {found}, {wanted} on one rank")
            shutil.rmtree(w.path("many"))
        shutil.rmtree(w.path("one"))


def rule_17_groups_of_ranks_have_the_losses_of_one_rank(w):
    """--mics_shard_size: groups of ranks cut states and have the same bits. Stages of one world have the bits that they have over all ranks: equal ones, but for
    stage 1 with accumulation. A checkpoint continues in another world, and the folder of the model is whole."""
    lora = ["--use_peft", "true", "--lora_r", "4", "--lora_target_modules", "all-linear"]
    usual = [("gpt2", "plain", 2), ("llama", "lora", 1)]
    for model, kind, accumulation in [(m, k, a) for m in ("gpt2", "llama", "bert", "t5") for k in ("plain", "lora") for a in (1, 2)] if w.all else usual:
        steps = ["--max_steps", "20", "--save_steps", "10"] if w.all else ["--save_steps", "3"]
        flags = [*steps, "--learning_rate", "0.0003", *(lora if kind == "lora" else [])]
        command = lambda out, ranks, *more: w.command(model, out, ranks, "--per_device_train_batch_size", str(16 // accumulation // ranks), *more, *flags,
                                                      accumulation=accumulation)
        final, middle = "adapter_model" if kind == "lora" else "model", "checkpoint-10" if w.all else "checkpoint-3"
        w.run(1, command("one", 1))
        wanted, bits = w.losses("one"), {}
        for ranks, group in ((4, 2), (8, 4)) if w.all else ((4, 2),):
            for stage in (1, 2, 3) if w.all or kind == "plain" else (3,):
                what = f"{model}, {kind}, {ranks} ranks in groups of {group}, ZeRO {stage}, accumulation {accumulation}"
                w.run(ranks, command("many", ranks, "--mics_shard_size", str(group), "--zero_stage", str(stage)))
                close(w.losses("many"), wanted, what, FIRST)
                bits[ranks, stage] = w.losses("many"), w.tensors("many", final)
                demand({n: len(b) for n, b in bits[ranks, stage][1].items()} == {n: len(b) for n, b in w.tensors("one", final).items()}, f"{what}: other tensors")
                worlds = (1, []), (2, ["--zero_stage", "3"]), (4, ["--zero_stage", "2", "--mics_shard_size", "2"]), (2, ["--mesh", "tensor=2"])
                for others, more in worlds if w.all else worlds[:1] if stage == 1 else worlds[2:3]:
                    shutil.copytree(w.path("many", middle), w.path("then", middle))
                    w.run(others, command("then", 1 if "--mesh" in more else others, *more))
                    close(w.losses("then"), wanted, f"{what}, then {others} ranks {more}", FIRST)
                    shutil.rmtree(w.path("then"))
                shutil.rmtree(w.path("many"))
                for other in range(1 if accumulation == 1 else 2, stage):
                    demand(bits.get((ranks, other), bits[ranks, stage]) == bits[ranks, stage], f"{what}: other bits than stage {other}")
        shutil.rmtree(w.path("one"))


def rule_2_meshes_that_do_not_fit_are_refused(w):
    """By a code, before the first step."""
    for model, ranks, flags, code, text in (
            ("gpt2", 2, ["--mesh", "tensor=3"], "H2432", "does not fit a run of 2 ranks"),
            ("gpt2", 1, ["--mesh", "tensor=2"], "H2432", "does not fit a run of 1 rank"),
            ("gpt2", 2, ["--mesh", "tensor=2", "--split_invariant", "2", "--device", "reference"], "H2432", "--split_invariant on this device"),
            ("gpt2", 2, ["--mesh", "tensor=2", "--optim", "adafactor"], "H2432", "--optim adafactor"),
            ("gpt2", 2, ["--mesh", "pipeline=2"], "H2432", "does not divide layers"),
            ("gpt2", 2, ["--mesh", "rows=2"], "H0203", "there is no axis 'rows'"),
            ("gpt2", 3, ["--mics_shard_size", "2", "--zero_stage", "1"], "H2432", "3 ranks are not groups of 2"),
            ("gpt2", 2, ["--mics_shard_size", "1", "--zero_stage", "1"], "H2432", "cuts nothing"),
            ("gpt2", 4, ["--mics_shard_size", "2"], "H2432", "stage 0 of ZeRO has no states to cut"),
            ("gpt2", 4, ["--mics_shard_size", "2", "--zero_stage", "1", "--mesh", "tensor=2"], "H2432", "the axis 'tensor'"),
            ("llama", 4, ["--mesh", "tensor=4"], "H1101", "2 key/value heads are not divided among 4 ranks")):
        w.wait(w.start(ranks, w.command(model, "refused", 1, *flags)))
        demand(code in w.log(0) and text in w.log(0), f"{flags}: {w.log(0)}")
        shutil.rmtree(w.path("refused"), ignore_errors=True)


def rule_24_adapters_optimizers_and_types_have_the_losses_of_one_rank(w):
    """LoRA, optimizers whose states are blocks or whole tensors, 16 bits, offload and recompute, with each ZeRO stage that cuts them."""
    kinds = {
        "lora": ["--use_peft", "true", "--lora_r", "4"],
        "dora": ["--use_peft", "true", "--lora_r", "4", "--use_dora", "true"],
        "8bit": ["--optim", "adamw_8bit"],
        "adafactor": ["--optim", "adafactor"],
        "sgd": ["--optim", "sgd"],
        "bf16": ["--bf16", "true"],
        "offload": ["--offload_optimizer_device", "cpu", "--gradient_checkpointing", "true"],
        "no clipping": ["--max_grad_norm", "0"],
        "fp16": ["--fp16", "true"],
    }
    for name, flags in kinds.items():
        if not w.all and name in ("sgd", "no clipping", "fp16"):
            continue
        bound = 1e-3 if name in ("bf16", "fp16") else LATER
        w.run(1, w.command("gpt2", "one", 1, *flags, accumulation=2))
        for ranks, stage in ((2, 0), (2, 1), (3, 2), (2, 3)) if w.all else ((2, 1), (3, 3)):
            w.run(ranks, w.command("gpt2", "many", ranks, "--zero_stage", str(stage), "--save_steps", "3", *flags, accumulation=2))
            close(w.losses("many"), w.losses("one"), f"{name}, {ranks} ranks, ZeRO {stage}", bound)
            # Rule 14 for these states.
            shutil.copytree(w.path("many", "checkpoint-3"), w.path("then", "checkpoint-3"))
            w.run(1, w.command("gpt2", "then", 1, *flags, accumulation=2))
            close(w.losses("then"), w.losses("many"), f"{name} from {ranks} ranks, ZeRO {stage}, to one", bound)
            shutil.rmtree(w.path("then"))
            shutil.rmtree(w.path("many"))
        shutil.rmtree(w.path("one"))


def rule_24_adapters_over_each_kind_of_base(w):
    """LoRA over weights in float32 and in four bits, in which stage 3 cuts the frozen base as bytes: 20 steps."""
    for name, flags in ("lora", []), ("qlora", ["--load_in_4bit", "true"]):
        flags = [*flags, "--use_peft", "true", "--lora_r", "4", "--max_steps", "20", "--learning_rate", "0.0003"]
        base = w.base_model()
        for model in ("gpt2", "llama") if w.all else ("llama",):
            for accumulation in (1, 2):
                argv = lambda out, ranks, *more: with_flags(w.command(model, out, ranks, *flags, *more, accumulation=accumulation), ["--model_name_or_path", base[model]])
                without = lambda command: [a for a in command if a not in ("--config_name", model + ".json")]
                w.run(1, without(argv("one", 1)))
                for ranks, stage in [(2, 0), (2, 1), (3, 2), (2, 3), (4, 3)] if w.all else [(2, 0), (3, 3)]:
                    if ROWS // accumulation % ranks:
                        continue
                    w.run(ranks, without(argv("many", ranks, "--zero_stage", str(stage))))
                    close(w.losses("many"), w.losses("one"), f"{name} of {model}, {ranks} ranks, ZeRO {stage}, accumulation {accumulation}", FIRST)
                    shutil.rmtree(w.path("many"))
                shutil.rmtree(w.path("one"))


def units_have_the_same_bits_in_every_world(w):
    """--split_invariant: losses, norms, weights and optimizer states, with any number of ranks and any stage, byte by byte. Ranks have unequal numbers of labels."""
    mlm = [w.hone, "train", "--task", "mlm", "--model_name_or_path", GOLDENS + "/mlm/bert_tiny", "--train_file", "t.txt", "--max_seq_length", "24",
           "--line_by_line", "--do_train", "--learning_rate", "0.001", "--logging_steps", "1", "--threads", "1", "--validation_split_percentage", "10",
           "--do_eval"]
    tests = [("gpt2", "2"), ("llama", "3"), ("bert", "1"), ("t5", "2"), ("mlm", "2")]
    for model, unit in tests if w.all else tests[1:]:
        for rows, accumulation, worlds in (ROWS, 1, [(2, 0), (3, 1), (4, 3)]), (ROWS, 2, [(2, 2), (3, 3)]), (14, 1, [(7, 3), (2, 1)]):
            if not w.all and (rows == 14) != (model == "llama"):
                worlds = worlds[-1:]

            def command(out, ranks, *more):
                argv = w.command(model, out, ranks, accumulation=accumulation) if model != "mlm" else [*mlm, "--output_dir", out]
                return with_flags(argv, ["--per_device_train_batch_size", str(rows // accumulation // ranks), "--max_steps", str(STEPS), "--split_invariant", unit,
                                         "--gradient_accumulation_steps", str(accumulation), "--save_steps", "3", *more])

            def found(out):
                evaluated = w.results(out, "eval_results.json") if model == "mlm" else None
                return w.losses(out), evaluated, w.tensors(out, "model"), w.tensors(f"{out}/checkpoint-{STEPS}", "optimizer")

            w.run(1, command("one", 1))
            wanted = found("one")
            demand(len(wanted[0]) == STEPS and wanted[3], "nothing to compare")
            for ranks, stage in worlds:
                w.run(ranks, command("many", ranks, "--zero_stage", str(stage)))
                for what, a, b in zip(("losses", "metrics", "weights", "optimizer states"), found("many"), wanted):
                    demand(a == b, f"{model}, {ranks} ranks, ZeRO {stage}, accumulation {accumulation}: other {what}")
                # A world continues another one's checkpoint.
                shutil.copytree(w.path("many", "checkpoint-3"), w.path("then", "checkpoint-3"))
                w.run(1, command("then", 1))
                demand(found("then")[2:] == wanted[2:], f"{model}: other bits after a checkpoint of {ranks} ranks")
                shutil.rmtree(w.path("then"))
                shutil.rmtree(w.path("many"))
            shutil.rmtree(w.path("one"))


def units_have_the_same_bits_on_every_mesh(w):
    """--split_invariant with --mesh, or groups that cut states: ranks of the axis 'tensor' divide the rows of products of a unit. Every step has the bits of one rank, and so has a run
    that continues a checkpoint of another mesh."""
    lora = ["--use_peft", "true", "--lora_r", "4", "--lora_target_modules", "all-linear"]
    tests = [("gpt2", [], 1, [(4, 2, 2), (4, 1, 1)]), ("llama", lora, 1, [(2, 2, 3)])]
    if w.all:
        tests = [(m, f, a, [(4, 1, 3), (2, 2, 0), (4, 2, 1), (4, 2, 3), (3, 3, 2), (6, 3, 3), (4, 4, 0)])
                 for m in ("gpt2", "llama", "bert", "t5") for f in ([], lora, ["--bf16", "true"]) for a in (1, 2)]
        tests += [("gpt2", ["--optim", "adafactor"], 1, [(4, 2, 2)]), ("gpt2", ["--dtype", "bfloat16"], 1, [(4, 2, 1)])]
    for model, flags, accumulation, worlds in tests:
        def command(out, ranks, tensor, *more):
            rows = ROWS * tensor // accumulation // ranks
            return with_flags(w.command(model, out, 1, accumulation=accumulation), ["--per_device_train_batch_size", str(rows), "--split_invariant", "6",
                              "--gradient_accumulation_steps", str(accumulation), "--save_steps", "3", *flags, *more])

        def found(out):
            final = "adapter_model" if flags == lora else "model"
            return w.losses(out), w.tensors(out, final), w.tensors(f"{out}/checkpoint-{STEPS}", "optimizer")

        w.run(1, command("one", 1, 1))
        wanted = found("one")
        demand(len(wanted[0]) == STEPS and wanted[1] and wanted[2], "nothing to compare")
        for ranks, tensor, stage in worlds:
            groups = ["--mics_shard_size", "2"] if tensor == 1 else []
            mesh = ["--mesh", f"data={ranks // tensor},tensor={tensor}", "--zero_stage", str(stage), *groups]
            what = f"{model} {flags}, {mesh}, accumulation {accumulation}"
            w.run(ranks, command("many", ranks, tensor, *mesh))
            for part, a, b in zip(("losses", "weights", "optimizer states"), found("many"), wanted):
                demand(a == b, f"{what}: other {part}")
            shutil.copytree(w.path("many", "checkpoint-3"), w.path("then", "checkpoint-3"))
            w.run(1, command("then", 1, 1))
            demand(found("then")[1:] == wanted[1:], f"{what}: one rank continues with other bits")
            shutil.rmtree(w.path("then"))
            shutil.copytree(w.path("one", "checkpoint-3"), w.path("then", "checkpoint-3"))
            w.run(ranks, command("then", ranks, tensor, *mesh))
            demand(found("then")[1:] == wanted[1:], f"{what}: continues one rank with other bits")
            shutil.rmtree(w.path("then"))
            shutil.rmtree(w.path("many"))
        shutil.rmtree(w.path("one"))


def rule_19_streams_have_the_rows_of_one_rank(w):
    flags = ["--streaming", "true", "--validation_split_percentage", "0"]
    w.run(1, w.command("gpt2", "one", 1, *flags))
    w.run(3, w.command("gpt2", "many", 3, *flags))
    close(w.losses("many"), w.losses("one"), "a stream on 3 ranks")


def rule_4_a_short_epoch_ends_on_all_ranks(w):
    """Seven rows on four ranks: one has none in the last batch, and in a step of one row three have none."""
    with open(w.path("few.jsonl"), "w") as f:
        f.writelines(json.dumps({"sentence1": "a b", "sentence2": "c", "label": "yes" if k % 2 else "no"}) + "\n" for k in range(9))
    argv = w.command("bert", "few", 4, "--train_file", w.path("few.jsonl"), "--max_steps", "-1", "--num_train_epochs", "2")
    argv = with_flags(argv, ["--per_device_train_batch_size", "2"])
    w.run(4, argv)
    found = w.losses("few")
    argv = w.command("bert", "few_one", 1, "--train_file", w.path("few.jsonl"), "--max_steps", "-1", "--num_train_epochs", "2")
    argv = with_flags(argv, ["--per_device_train_batch_size", "8"])
    w.run(1, argv)
    demand(len(found) == 4, f"{len(found)} steps")
    close(found, w.losses("few_one"), "short batches")


def rule_18_each_row_is_evaluated_once(w):
    """The metrics and predictions of any world are those of one rank, digit by digit."""
    tests = {
        "clm": (["clm", "--model_name_or_path", GOLDENS + "/tiny_text_gpt2", "--validation_file", "t.txt", "--block_size", "24", "--packing"], []),
        "mlm": (["mlm", "--model_name_or_path", GOLDENS + "/mlm/bert_tiny", "--validation_file", "t.txt", "--max_seq_length", "24", "--line_by_line"], []),
        "summarization": (["summarization", "--model_name_or_path", GOLDENS + "/pairs/t5", "--validation_file", "pairs.jsonl", "--test_file", "pairs.jsonl",
                           "--max_source_length", "40", "--max_target_length", "16", "--predict_with_generate", "--do_predict"],
                          ["generated_predictions.txt"]),
    }
    for name, (task, files) in tests.items():
        argv = [w.hone, "train", "--task", *task, "--do_eval", "--per_device_eval_batch_size", "4", "--threads", "1", "--output_dir"]
        w.run(1, [*argv, "eval_one"])
        for ranks, stage in [(2, "0"), (3, "0"), (2, "3"), *([(4, "3")] if w.all or name == "summarization" else [])]:
            w.run(ranks, [*argv, "eval_many", "--zero_stage", stage, *(["--mics_shard_size", "2"] if ranks == 4 else [])])
            for result in ["eval_results.json"] + (["predict_results.json"] if "--do_predict" in task else []):
                one, many = w.results("eval_one", result), w.results("eval_many", result)
                demand(one == many, f"{name} on {ranks} ranks, {result}: {many}, {one} on one rank")
            for file in files:
                demand(open(w.path("eval_one", file)).read() == open(w.path("eval_many", file)).read(), f"{name}: other {file} on {ranks} ranks")
            shutil.rmtree(w.path("eval_many"))
        shutil.rmtree(w.path("eval_one"))


def rule_14_any_world_resumes_a_checkpoint(w):
    """A checkpoint of two ranks continues on one and on three, and one of three on two, with the rows that come next (rule 19)."""
    for stage in ("1", "2", "3") if w.all else ("1", "3"):
        for first, others in (2, (1, 3)), (3, (2,)):
            accumulation = 2
            w.run(first, w.command("llama", "whole", first, "--save_steps", "3", "--zero_stage", stage, accumulation=accumulation))
            wanted = w.losses("whole")
            shutil.rmtree(w.path("whole", "checkpoint-6"))
            parts = sorted(n for n in os.listdir(w.path("whole", "checkpoint-3")) if n.endswith(".safetensors"))
            demand(len(parts) == 2 * first, f"the files of {first} ranks: {parts}")
            for ranks in others:
                shutil.copytree(w.path("whole", "checkpoint-3"), w.path("then", "checkpoint-3"))
                w.run(ranks, w.command("llama", "then", ranks, "--zero_stage", stage if ranks > 1 else "0", accumulation=accumulation))
                close(w.losses("then"), wanted, f"from {first} to {ranks} ranks, ZeRO {stage}")
                shutil.rmtree(w.path("then"))
            shutil.rmtree(w.path("whole"))


def rule_23_sigterm_to_one_rank_saves_on_all(w):
    argv = w.command("gpt2", "whole", 2, "--save_steps", "1000", "--max_steps", "40")
    w.run(2, argv)
    wanted = w.losses("whole"), w.all_weights("whole")
    argv = w.command("gpt2", "stopped", 2, "--save_steps", "1000", "--max_steps", "40")
    for sent, rank in (signal.SIGTERM, 1), (signal.SIGINT, 0):
        processes = w.start(2, argv)
        w.until(processes, "step 3/40" if rank == 1 else "step 20/40")
        processes[rank].send_signal(sent)
        statuses = w.wait(processes)
        demand(all(s >= 128 for s in statuses), f"statuses {statuses} after {sent}\n{w.log(0)}\n{w.log(1)}")
        demand("stopped     by a signal after step" in w.log(0), w.log(0))
        demand(any(n.startswith("checkpoint-") for n in os.listdir(w.path("stopped"))), "nothing was saved")
    w.run(2, argv)
    demand((w.losses("stopped"), w.all_weights("stopped")) == wanted, "the stopped run has other bits than the whole one")


def rule_23_sigterm_in_an_evaluation_ends_all_ranks(w):
    argv = w.command("gpt2", "stopped", 2, "--validation_split_percentage", "90", "--eval_strategy", "steps", "--eval_steps", "1",
                     "--per_device_eval_batch_size", "1")
    processes = w.start(2, argv)
    w.until(processes, "step 1/")
    processes[1].send_signal(signal.SIGTERM)
    statuses = w.wait(processes)
    demand(all(s >= 128 for s in statuses), f"statuses {statuses}\n{w.log(0)}\n{w.log(1)}")
    w.run(2, argv)


def rule_2_other_settings_are_refused_by_name(w):
    argv = w.command("gpt2", "refused", 2)
    processes = w.start(2, argv, of_rank=lambda rank: ["--learning_rate", "0.5"] if rank == 1 else [])
    statuses = w.wait(processes)
    demand(all(s not in (0, None) for s in statuses), f"statuses {statuses}")
    demand(any("learning_rate" in w.log(k) for k in range(2)), f"no rank names learning_rate:\n{w.log(0)}\n{w.log(1)}")


def rule_2_other_data_are_refused_by_name(w):
    os.makedirs(w.path("elsewhere"), exist_ok=True)
    for name in ("t.txt", "gpt2.json"):
        shutil.copy(w.path(name), w.path("elsewhere", name))
    with open(w.path("t.txt")) as f:
        lines = f.readlines()
    with open(w.path("elsewhere", "t.txt"), "w") as f:
        f.writelines(reversed(lines))
    argv = w.command("gpt2", w.path("refused"), 2)
    statuses = w.wait(w.start(2, argv, folder_of=lambda rank: w.path("elsewhere") if rank == 1 else None))
    demand(all(s != 0 for s in statuses), f"statuses {statuses}")
    demand(any("H2430" in w.log(k) and "'data'" in w.log(k) for k in range(2)), f"{w.log(0)}\n{w.log(1)}")


def rule_13_folders_of_several_disks_are_refused(w):
    os.makedirs(w.path("disk"), exist_ok=True)
    for name in ("t.txt", "gpt2.json"):
        shutil.copy(w.path(name), w.path("disk", name))
    statuses = w.wait(w.start(2, w.command("gpt2", "apart", 2), folder_of=lambda rank: w.path("disk") if rank == 1 else None))
    demand(all(s != 0 for s in statuses), f"statuses {statuses}")
    demand(any("H2431" in w.log(k) for k in range(2)), f"{w.log(0)}\n{w.log(1)}")


def rule_13_a_vanished_output_folder_is_named(w):
    """The folder is moved away while ranks train into it: the run ends with its name, and no rank waits."""
    processes = w.start(2, w.command("gpt2", "vanished", 2, "--save_steps", "1", "--max_steps", "400"))
    w.until(processes, "vanished/checkpoint-2")
    os.rename(w.path("vanished"), w.path("moved"))
    statuses = w.wait(processes)
    demand(all(s not in (0, None) for s in statuses), f"statuses {statuses}")
    demand(all("'vanished" in w.log(k) for k in range(2)), f"{w.log(0)}\n{w.log(1)}")


def rule_15_a_killed_save_leaves_no_checkpoint(w):
    """Rank 1 is killed at moments of a run that saves after each step: what is listed is whole, and the run continues."""
    argv = w.command("gpt2", "killed", 2, "--save_steps", "1", "--max_steps", "20", "--zero_stage", "1")
    for step in (2, 5, 9) if w.all else (4,):
        processes = w.start(2, argv)
        w.until(processes, f"killed/checkpoint-{step}")
        processes[1].kill()
        statuses = w.wait(processes)
        demand(statuses[0] != 0, f"rank 0 ended well without rank 1: {statuses}")
    w.run(2, argv)
    demand(len(w.losses("killed")) == 20, "steps are missing")


def rule_5_random_kills_lose_nothing(w):
    """Ranks are killed at random moments; the same command then ends with the bits of a run that was not killed."""
    rng = random.Random(w.seed)
    kills, wanted = 0, {}
    while kills < (60 if w.all else 8):
        ranks, stage = rng.choice([(2, "1"), (3, "3")] if w.all else [(2, "1")])
        argv = w.command("gpt2", "killed", ranks, "--save_steps", "2", "--max_steps", "24", "--zero_stage", stage, "--validation_split_percentage", "20",
                         "--eval_strategy", "steps", "--eval_steps", "3", "--save_total_limit", "2")
        if (ranks, stage) not in wanted:
            w.run(ranks, w.with_output(argv, "whole"))
            wanted[ranks, stage] = w.losses("whole"), w.all_weights("whole")
            shutil.rmtree(w.path("whole"))
        for _ in range(4):
            processes = w.start(ranks, argv)
            time.sleep(rng.uniform(0.05, 1.2))
            processes[rng.randrange(ranks)].send_signal(rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
            w.wait(processes)
            kills += 1
        w.run(ranks, argv)
        demand((w.losses("killed"), w.all_weights("killed")) == wanted[ranks, stage], f"other bits after kills ({ranks} ranks, ZeRO {stage}, seed {w.seed})")
        shutil.rmtree(w.path("killed"))


def rule_16_the_model_folder_is_that_of_one_rank(w):
    """The final folder loads as usual; every rank wrote its part of the checkpoints."""
    for stage in "1", "3":
        w.run(2, w.command("gpt2", "saved", 2, "--zero_stage", stage))
        found = []
        for model in "saved", f"saved/checkpoint-{STEPS}":
            w.run(1, [w.hone, "train", "--task", "clm", "--model_name_or_path", model, "--validation_file", "t.txt", "--block_size", "24", "--do_eval",
                      "--overwrite_output_dir", "--output_dir", "loaded"])
            found.append(w.results("loaded", "eval_results.json"))
        demand(found[0] == found[1], f"ZeRO {stage}: the final model {found[0]}, its checkpoint {found[1]}")
        demand(not any(n.startswith("ranges") for n in os.listdir(w.path("saved"))), "ranges are left")
        shutil.rmtree(w.path("saved"))


def rule_16_a_bucket_takes_the_parts_of_all_ranks(w):
    constant = ["--lr_scheduler_type", "constant"]
    server = subprocess.Popen([sys.executable, os.path.join(SOURCE, "tools", "fake_buckets.py"), "--bucket", "gs://ranks"], stdout=subprocess.PIPE, text=True)
    try:
        os.environ.update(STORAGE_EMULATOR_HOST="http://127.0.0.1:" + server.stdout.readline().split()[1], no_proxy="127.0.0.1")
        w.run(2, w.command("gpt2", "gs://ranks/out", 2, "--zero_stage", "1", "--save_steps", "3", *constant))
        w.run(3, w.command("gpt2", "gs://ranks/out", 3, "--zero_stage", "3", "--save_steps", "3", "--max_steps", "8", *constant))
        w.run(1, [w.hone, "store", "sync", "gs://ranks/out", "out"])
        demand(len(w.losses("out")) == 8, "steps are missing")
        w.run(2, w.command("gpt2", "local", 2, "--max_steps", "8", *constant))
        close(w.losses("out"), w.losses("local"), "a run into a bucket")
    finally:
        server.kill()
        os.environ.pop("STORAGE_EMULATOR_HOST")


def decisions_are_equal_on_all_ranks(w):
    """Early stopping, the best model, the limit of time and steps that are not finite."""
    argv = w.command("gpt2", "best", 2, "--validation_split_percentage", "20", "--eval_strategy", "steps", "--eval_steps", "1", "--save_steps", "1",
                     "--save_total_limit", "2", "--load_best_model_at_end", "true", "--early_stopping_patience", "1", "--learning_rate", "3",
                     "--max_steps", "40")
    w.run(2, argv)
    demand("is the final model" in w.log(0), w.log(0))
    demand(len(w.losses("best")) < 40, "it did not stop early")
    # Saves take most of the time, which the prediction before the run does not count.
    argv = w.command("gpt2", "late", 2, "--max_steps", "400", "--max_hours", str(3 / 3600), "--logging_steps", "1000", "--save_steps", "1",
                     "--save_total_limit", "1")
    statuses = w.wait(w.start(2, argv))
    demand(statuses[0] == statuses[1] and statuses[0] != 0 and "out of time after step" in w.log(0), f"{statuses} {w.log(0)[-2000:]}")
    argv = w.command("gpt2", "broken", 2, "--learning_rate", "1e6", "--non_finite", "skip", "--max_grad_norm", "0", "--max_steps", "20")
    statuses = w.wait(w.start(2, argv))
    demand(statuses[0] == statuses[1], f"{statuses}\n{w.log(0)}\n{w.log(1)}")
    argv = w.command("gpt2", "stop", 2, "--learning_rate", "1e6", "--max_grad_norm", "0", "--max_steps", "20")
    statuses = w.wait(w.start(2, argv))
    demand(statuses == [1, 1] and "H2406" in w.log(0), f"{statuses}\n{w.log(0)}\n{w.log(1)}")


def chosen_tests(functions, beginnings, parts):
    """The functions of a file whose names begin so, and hold one of `parts` if there are any."""
    return [f for n, f in functions.items() if n.startswith(beginnings) and (not parts or any(p in n for p in parts))]


def run_tests(tests, prefix, world):
    """Runs each test on world(folder), with a folder of its own. Returns the exit status."""
    wrong = 0
    for test in tests:
        folder = tempfile.mkdtemp(prefix=prefix)
        begin = time.time()
        try:
            placement_bits.prepare(folder)
            test(world(folder))
            print(f"{test.__name__}: {time.time() - begin:.0f} s", flush=True)
        except Skipped as why:
            print(f"{test.__name__}: skipped, {why}", flush=True)
        except Fault as fault:
            wrong += 1
            print(f"{test.__name__}: FAILED\n{fault}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    tests = chosen_tests(globals(), ("rule_", "decisions_", "units_"), options.tests)
    return run_tests(tests, "hone_ranks_", lambda folder: World(os.path.abspath(options.hone), folder, options.all, options.seed))


if __name__ == "__main__":
    sys.exit(main())
