#!/usr/bin/env python3
"""Makes tests/goldens/fsdp1_checkpoints again: checkpoints of FullyShardedDataParallel (FSDP1), whose parameters are flat.

Needs torch, transformers and accelerate. Model, rows and settings are those of tests/goldens/peer_checkpoints; two ranks.

sharded/checkpoint-4   SHARDED_STATE_DICT, one flat parameter a block (use_orig_params false), no weight decay
losses.json            losses of all steps of each, and those after the checkpoint
FULL_STATE_DICT of FSDP1 is left out: PyTorch 2.15 writes other exp_avg than it has, on CPUs with Gloo.
Accelerate's own functions write the files, as Transformers' Trainer calls them on GPUs.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import golden_peer_checkpoints as peers

FOLDER = peers.FOLDER.parent / "fsdp1_checkpoints"
KINDS = {"sharded": "SHARDED_STATE_DICT"}


class Fsdp1(peers.Plain):
    def __init__(self, rank, ranks, kind):
        self.state_dict_type = KINDS[kind]
        super().__init__(rank, ranks)

    def prepare(self):
        import torch
        from accelerate import Accelerator, FullyShardedDataParallelPlugin
        from torch.distributed.fsdp import FullyShardedDataParallel
        from torch.distributed.fsdp.wrap import ModuleWrapPolicy
        from transformers.models.gpt2.modeling_gpt2 import GPT2Block
        self.model = FullyShardedDataParallel(self.model, auto_wrap_policy=ModuleWrapPolicy({GPT2Block}),
                                              use_orig_params=False, device_id=torch.device("cpu"))
        # Biases, norms and matrices are one flat parameter, which cannot decay in part.
        self.optimizer, self.schedule = peers.optimizer_of([dict(params=list(self.model.parameters()), weight_decay=0.0)])
        plugin = FullyShardedDataParallelPlugin(fsdp_version=1, state_dict_type=self.state_dict_type,
                                                cpu_ram_efficient_loading=False)
        self.place = dict(accelerator=Accelerator(cpu=True), fsdp_plugin=plugin)

    def update(self, loss):
        loss.backward()
        self.model.clip_grad_norm_(peers.SETTINGS["max_grad_norm"])
        self.optimizer.step()
        self.schedule.step()
        self.optimizer.zero_grad()

    def save(self, folder):
        import torch
        from accelerate.utils.fsdp_utils import save_fsdp_model, save_fsdp_optimizer
        from transformers import TrainerState
        save_fsdp_model(model=self.model, output_dir=str(folder), **self.place)
        save_fsdp_optimizer(optimizer=self.optimizer, model=self.model, output_dir=str(folder), **self.place)
        if self.rank == 0:
            torch.save(self.schedule.state_dict(), folder / "scheduler.pt")
            TrainerState(epoch=0.5, global_step=peers.SAVED, max_steps=peers.SETTINGS["max_steps"],
                         num_train_epochs=1, train_batch_size=2).save_to_json(str(folder / "trainer_state.json"))


def rank_of_run(kind, folder):
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(0)
    peers.load_rows.rows = peers.load_rows()
    rank = int(os.environ["RANK"])
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    side, losses = Fsdp1(rank, 2, kind), []
    for step in range(peers.SETTINGS["max_steps"]):
        losses.append(side.step(step))
        if step + 1 == peers.SAVED:
            side.save(folder)
    if rank == 0:
        (folder / "losses.json").write_text(json.dumps(losses))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def main():
    if sys.argv[1:2] == ["--rank"]:
        rank_of_run(sys.argv[2], pathlib.Path(sys.argv[3]))
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    losses = {}
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as place:
            port = str(20000 + os.getpid() % 10000)
            ranks = [subprocess.Popen([sys.executable, __file__, "--rank", kind, place],
                                      env=dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                                               LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                                               OMP_NUM_THREADS="1")) for rank in range(2)]
            if any([rank.wait() for rank in ranks]):
                raise SystemExit(f"{kind}: a rank failed")
            losses[kind] = json.loads((pathlib.Path(place) / "losses.json").read_text())
            shutil.copytree(place, FOLDER / kind / f"checkpoint-{peers.SAVED}", ignore=shutil.ignore_patterns("losses.json"))
    (FOLDER / "losses.json").write_text(json.dumps(dict(
        losses=losses, continued={kind: all_steps[peers.SAVED:] for kind, all_steps in losses.items()}), indent=1) + "\n")
    for path in FOLDER.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


if __name__ == "__main__":
    main()
