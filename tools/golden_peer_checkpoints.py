#!/usr/bin/env python3
"""Makes tests/goldens/peer_checkpoints again: checkpoints in the middle of small runs, as other trainers write them.

Needs torch, transformers, accelerate, deepspeed, peft and lightning.

model/            a GPT-2 of one layer with its tokenizer, the start of every run
train.jsonl       the rows, in their order; each is one sequence with an end token (hone train --packing --no_shuffle)
golden.json       settings, and losses of all steps by kind of checkpoint; the checkpoint is of step `saved`, and
                  `continued` has the losses after it
after.safetensors weights, exp_avg.<weight> and exp_avg_sq.<weight> at that step, from plain PyTorch
<kind>/           deepspeed_zero1, _zero2, _zero3      two ranks of DeepSpeed: global_step4/ and `latest`
                  deepspeed_zero2_bf16                 the same with bf16 weights and f32 masters
                  deepspeed_zero3_lora                 with PEFT's LoRA beside frozen weights
                  deepspeed_universal                  ds_to_universal of deepspeed_zero2
                  dcp                                  two ranks of fully_shard, torch.distributed.checkpoint
                  trainer_fsdp                         the same, as Accelerate and Transformers' Trainer save it
                  trainer_fsdp_full                    the same with FULL_STATE_DICT
                  lightning                            one process of Lightning
Each run is AdamW with two groups of weights, clipping and a linear schedule with warmup; the loss of a step is a sum over
all targets of both ranks divided by their number. Each kind loads its checkpoint itself and must continue as it did, except NOT_LOADED_HERE.
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens/peer_checkpoints"
SETTINGS = dict(learning_rate=0.01, weight_decay=0.05, adam_beta1=0.9, adam_beta2=0.999, adam_epsilon=1e-8,
                max_grad_norm=1.0, lr_scheduler_type="linear", warmup_steps=2, max_steps=8, rows_per_step=4)
SAVED, RANKS = 4, 2
END = "<|endoftext|>"
WORDS = "the cat sat on mat and dog lay rug for it was late house still when rain came river rose over fields".split()
KINDS = {"plain": 1, "deepspeed_zero1": RANKS, "deepspeed_zero2": RANKS, "deepspeed_zero3": RANKS,
         "deepspeed_zero2_bf16": RANKS, "deepspeed_zero3_lora": RANKS,
         "dcp": RANKS, "trainer_fsdp": RANKS, "trainer_fsdp_full": RANKS,
         "lightning": 1}
NOT_LOADED_HERE = {"trainer_fsdp_full"}  # Accelerate loads it on GPUs only


def make_model():
    import torch
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel
    merges = [("h", "e"), ("Ġ", "t"), ("a", "t"), ("Ġ", "r"), ("Ġt", "he")]
    tokens = ["Ġ", *"abcdefghijklmnopqrstuvwxyz", *map("".join, merges), END]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = len(tokens) - 1
    torch.manual_seed(11)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokens), n_layer=1, n_embd=8, n_head=2, n_positions=32,
                                       resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=end, eos_token_id=end))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.2 * torch.randn(p.shape))
    model.save_pretrained(FOLDER / "model")
    (FOLDER / "model" / "model.safetensors").chmod(0o644)
    (FOLDER / "model" / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": level,
        "added_tokens": [dict(id=end, content=END, single_word=False, lstrip=False, rstrip=False, normalized=False,
                              special=True)],
        "post_processor": dict(level, trim_offsets=False), "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {t: i for i, t in enumerate(tokens)}, "merges": [" ".join(m) for m in merges]}},
        ensure_ascii=False) + "\n", encoding="utf-8")
    (FOLDER / "model" / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "GPT2Tokenizer", "bos_token": END, "eos_token": END, "unk_token": END,
         "model_max_length": 32}, indent=2) + "\n")
    assert len(AutoTokenizer.from_pretrained(FOLDER / "model")) == len(tokens)
    rng = random.Random(3)
    count = SETTINGS["max_steps"] * SETTINGS["rows_per_step"]
    rows = [" ".join(rng.choices(WORDS, k=rng.randint(1, 5))) for _ in range(count)]
    (FOLDER / "train.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))


def load_model():
    import transformers
    transformers.logging.disable_progress_bar()
    return transformers.GPT2LMHeadModel.from_pretrained(FOLDER / "model").train()


def load_rows():
    import transformers
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER / "model")
    with open(FOLDER / "train.jsonl") as f:
        return [tokenizer(json.loads(line)["text"])["input_ids"] + [tokenizer.eos_token_id] for line in f]


def step_rows(step, rank, ranks):
    """The rows of a rank, and the number of targets in the whole step."""
    each = SETTINGS["rows_per_step"]
    rows = load_rows.rows[step * each:(step + 1) * each]
    return rows[rank * each // ranks:(rank + 1) * each // ranks], sum(len(row) - 1 for row in rows)


def loss_sum(model, rows):
    import torch
    total = 0
    for row in rows:
        ids = torch.tensor([row])
        total = total + torch.nn.functional.cross_entropy(model(input_ids=ids, use_cache=False).logits[0, :-1].float(),
                                                          ids[0, 1:], reduction="sum")
    return total


def groups_of(model):
    from transformers import Trainer
    decayed = Trainer.get_decay_parameter_names(None, model)
    named = list(model.named_parameters())
    groups = [dict(params=[p for n, p in named if (n in decayed) == decay and p.requires_grad],
                   weight_decay=SETTINGS["weight_decay"] if decay else 0.0) for decay in (True, False)]
    return [group for group in groups if group["params"]]


def optimizer_of(groups):
    import torch
    from transformers import get_linear_schedule_with_warmup
    optimizer = torch.optim.AdamW(groups, lr=SETTINGS["learning_rate"], betas=(0.9, 0.999), eps=1e-8)
    return optimizer, get_linear_schedule_with_warmup(optimizer, SETTINGS["warmup_steps"], SETTINGS["max_steps"])


class Plain:
    """One process of PyTorch."""

    def __init__(self, rank, ranks):
        self.rank, self.ranks = rank, ranks
        self.model = load_model()
        self.prepare()

    def prepare(self):
        self.optimizer, self.schedule = optimizer_of(groups_of(self.model))

    def step(self, step):
        import torch
        rows, targets = step_rows(step, self.rank, self.ranks)
        loss = loss_sum(self.model, rows)
        self.update(loss * (self.ranks / targets))
        total = loss.detach().double().reshape(1)
        if self.ranks > 1:
            torch.distributed.all_reduce(total)
        return total.item() / targets

    def update(self, loss):
        import torch
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), SETTINGS["max_grad_norm"])
        self.optimizer.step()
        self.schedule.step()
        self.optimizer.zero_grad()

    def save(self, folder):
        from safetensors.torch import save_file
        tensors = {}
        for name, p in self.model.named_parameters():
            tensors[name] = p.detach().clone()
            for key in ("exp_avg", "exp_avg_sq"):
                tensors[f"{key}.{name}"] = self.optimizer.state[p][key].clone()
        save_file(tensors, FOLDER / "after.safetensors")
        (FOLDER / "after.safetensors").chmod(0o644)

class DeepSpeed(Plain):
    def __init__(self, rank, ranks, stage, bf16=False, lora=False):
        self.stage, self.bf16, self.lora = stage, bf16, lora
        super().__init__(rank, ranks)

    def prepare(self):
        import deepspeed
        if self.lora:
            from peft import LoraConfig, get_peft_model
            self.model = get_peft_model(self.model, LoraConfig(
                r=4, lora_alpha=8, target_modules=["c_attn"], lora_dropout=0.0, fan_in_fan_out=True,
                task_type="CAUSAL_LM")).train()
        groups = groups_of(self.model)
        optimizer, schedule = optimizer_of(groups)
        self.engine, _, _, self.schedule = deepspeed.initialize(
            model=self.model, optimizer=optimizer, lr_scheduler=schedule, config={
                "train_batch_size": SETTINGS["rows_per_step"], "gradient_accumulation_steps": 1,
                "train_micro_batch_size_per_gpu": SETTINGS["rows_per_step"] // self.ranks,
                "gradient_clipping": SETTINGS["max_grad_norm"], "zero_optimization": {"stage": self.stage},
                "zero_allow_untested_optimizer": True, "bf16": {"enabled": self.bf16}})
        self.model = self.engine

    def update(self, loss):
        self.engine.backward(loss)
        self.engine.step()

    def save(self, folder):
        self.engine.save_checkpoint(str(folder), tag=f"global_step{SAVED}")

    def load(self, folder):
        assert self.engine.load_checkpoint(str(folder))[0]


class Dcp(Plain):
    def prepare(self):
        from torch.distributed.fsdp import fully_shard
        for block in self.model.transformer.h:
            fully_shard(block)
        fully_shard(self.model)
        super().prepare()

    def state(self):
        from torch.distributed.checkpoint.state_dict import get_state_dict
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return dict(model=model, optimizer=optimizer, lr_scheduler=self.schedule.state_dict(), step=SAVED)

    def save(self, folder):
        import torch.distributed.checkpoint as dcp
        dcp.save(self.state(), checkpoint_id=folder)

    def load(self, folder):
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.state_dict import set_state_dict
        state = self.state()
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        self.schedule.load_state_dict(state["lr_scheduler"])


class TrainerFsdp(Dcp):
    """The folder checkpoint-4 of Transformers' Trainer with FSDP. Accelerate's own functions write the shards; Trainer
    calls them on GPUs only."""

    state_dict_type = "SHARDED_STATE_DICT"

    def prepare(self):
        from accelerate import Accelerator, FullyShardedDataParallelPlugin
        super().prepare()
        self.place = dict(accelerator=Accelerator(cpu=True), fsdp_plugin=FullyShardedDataParallelPlugin(
            fsdp_version=2, state_dict_type=self.state_dict_type, cpu_ram_efficient_loading=False))

    def save(self, folder):
        import torch
        from accelerate.utils.fsdp_utils import save_fsdp_model, save_fsdp_optimizer
        from transformers import TrainerState
        folder = folder / f"checkpoint-{SAVED}"
        save_fsdp_model(model=self.model, output_dir=str(folder), **self.place)
        save_fsdp_optimizer(optimizer=self.optimizer, model=self.model, output_dir=str(folder), **self.place)
        if self.rank == 0:
            torch.save(self.schedule.state_dict(), folder / "scheduler.pt")
            TrainerState(epoch=SAVED / SETTINGS["max_steps"], global_step=SAVED, max_steps=SETTINGS["max_steps"],
                         num_train_epochs=1, train_batch_size=SETTINGS["rows_per_step"] // RANKS).save_to_json(
                str(folder / "trainer_state.json"))

    def load(self, folder):
        import torch
        from accelerate.utils.fsdp_utils import load_fsdp_model, load_fsdp_optimizer
        folder = folder / f"checkpoint-{SAVED}"
        load_fsdp_model(model=self.model, input_dir=str(folder), **self.place)
        load_fsdp_optimizer(optimizer=self.optimizer, model=self.model, input_dir=str(folder), **self.place)
        self.schedule.load_state_dict(torch.load(folder / "scheduler.pt", weights_only=True))


class TrainerFsdpFull(TrainerFsdp):
    state_dict_type = "FULL_STATE_DICT"


def lightning_losses(folder, resume):
    """The losses of a run of Lightning; it keeps the checkpoint of step SAVED, or continues it."""
    import lightning as L
    import torch
    from lightning.pytorch.callbacks import ModelCheckpoint
    losses = []

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = load_model()

        def training_step(self, *_):
            rows, targets = step_rows(self.trainer.global_step, 0, 1)
            loss = loss_sum(self.model, rows) / targets
            losses.append(loss.item())
            return loss

        def configure_optimizers(self):
            optimizer, schedule = optimizer_of(groups_of(self.model))
            return dict(optimizer=optimizer, lr_scheduler=dict(scheduler=schedule, interval="step"))

    steps = torch.utils.data.DataLoader(range(SETTINGS["max_steps"]), batch_size=1)
    trainer = L.Trainer(accelerator="cpu", devices=1, max_steps=SETTINGS["max_steps"], logger=False,
                        enable_progress_bar=False, enable_model_summary=False, gradient_clip_val=SETTINGS["max_grad_norm"],
                        default_root_dir=folder / "root", callbacks=[ModelCheckpoint(
                            dirpath=folder, every_n_train_steps=SAVED, save_top_k=-1, filename="{epoch}-{step}")])
    trainer.fit(Module(), steps, ckpt_path=str(folder / f"epoch=0-step={SAVED}.ckpt") if resume else None)
    return losses


def make_side(kind, rank, ranks):
    if kind.startswith("deepspeed_zero"):
        return DeepSpeed(rank, ranks, int(kind[len("deepspeed_zero")]), kind.endswith("bf16"),
                         kind.endswith("lora"))
    return {"plain": Plain, "dcp": Dcp, "trainer_fsdp": TrainerFsdp,
            "trainer_fsdp_full": TrainerFsdpFull}[kind](rank, ranks)


def run(kind, rank, ranks, folder, resume):
    """A rank of a run: all steps with a checkpoint in the middle, or those after it. Rank 0 writes the losses."""
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(0)
    load_rows.rows = load_rows()
    if ranks > 1:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    if kind == "lightning":
        losses = lightning_losses(folder, resume)
    else:
        side, losses = make_side(kind, rank, ranks), []
        if resume:
            side.load(folder)
        for step in range(SAVED if resume else 0, SETTINGS["max_steps"]):
            losses.append(side.step(step))
            if step + 1 == SAVED:
                side.save(folder)
    if rank == 0:
        pathlib.Path(os.environ["GOLDEN_LOSSES"]).write_text(json.dumps(losses))
    if ranks > 1:
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


def start(kind, folder, resume):
    """Starts the ranks of a run; its losses."""
    with tempfile.TemporaryDirectory() as place:
        losses = pathlib.Path(place) / "losses.json"
        port = str(20000 + os.getpid() % 10000)
        ranks = KINDS[kind]
        processes = [subprocess.Popen([sys.executable, __file__, "--rank", kind, str(folder), str(int(resume))],
                                      env=dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks),
                                               LOCAL_WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                                               DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", GOLDEN_LOSSES=str(losses),
                                               TOKENIZERS_PARALLELISM="false"))
                     for rank in range(ranks)]
        if any([process.wait() for process in processes]):
            raise SystemExit(f"{kind}: a rank failed")
        return json.loads(losses.read_text())


def to_universal(folder):
    """DeepSpeed's converter, on a copy of the checkpoint of deepspeed_zero2."""
    subprocess.run([sys.executable, "-m", "deepspeed.checkpoint.ds_to_universal", "--inject_missing_state",
                    "--input_folder", str(FOLDER / "deepspeed_zero2" / f"global_step{SAVED}"),
                    "--output_folder", str(folder / f"global_step{SAVED}_universal")],
                   env=dict(os.environ, DS_ACCELERATOR="cpu"), check=True)
    (folder / "latest_universal").write_text(f"global_step{SAVED}_universal")


def check(what, mine, others, tolerance):
    worst = max(abs(a - b) / b for a, b in zip(mine, others, strict=True))
    print(f"{what}: {worst:.1e}", flush=True)
    if worst > tolerance:
        raise SystemExit(f"{what}: losses differ\n{mine}\n{others}")


def make(kind, losses):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        losses[kind] = start(kind, folder, False)
        equal_one = kind if kind.endswith("lora") else "plain"
        check(kind, losses[kind], losses.get(equal_one, losses[kind]), 2e-2 if kind.endswith("bf16") else 1e-6)
        if kind == "plain":
            return
        if kind not in NOT_LOADED_HERE:
            check(f"{kind} from its checkpoint", start(kind, folder, True), losses[kind][SAVED:],
                  1e-3 if kind.endswith("bf16") else 1e-6)
        shutil.rmtree(FOLDER / kind, ignore_errors=True)
        unwanted = shutil.ignore_patterns("*.py", f"*step={SETTINGS['max_steps']}*", "root")
        shutil.copytree(folder, FOLDER / kind, ignore=unwanted)


def main():
    if sys.argv[1:2] == ["--rank"]:
        kind, folder, resume = sys.argv[2:]
        run(kind, int(os.environ["RANK"]), KINDS[kind], pathlib.Path(folder), resume == "1")
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    make_model()
    losses = {}
    for kind in KINDS:
        make(kind, losses)
    universal = FOLDER / "deepspeed_universal"
    universal.mkdir()
    to_universal(universal)
    import torch
    import transformers
    golden = dict(made_by=f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, "
                          + ", ".join(f"{name} {version(name)}" for name in ("deepspeed", "accelerate", "lightning")),
                  settings=SETTINGS, saved=SAVED, losses=losses,
                  continued={kind: all_steps[SAVED:] for kind, all_steps in losses.items()})
    (FOLDER / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    for path in FOLDER.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


if __name__ == "__main__":
    main()
