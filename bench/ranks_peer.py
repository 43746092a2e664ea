"""One rank of PyTorch's DDP or FSDP on Gloo, as a process that is asked over its standard input.

    ranks_peer.py FILE RANK RANKS     the ranks meet in the new file; requests are JSON lines, {"do": "load" | "train", ...};
                                      all ranks get the same ones in the same order

The model is of the class that config.json names. fsdp is fully_shard on each block and on the whole model: weights,
gradients and optimizer states are cut between the ranks. The loss of a step is its sum over all target tokens of all
ranks (for labels of rows: over all rows), divided by their number, as with Transformers' num_items_in_batch; AdamW
decays what Trainer's does, and gradients are clipped at 1.0.
"""
import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
import transformers
from torch.distributed.fsdp import fully_shard

from two_hosts import interface_bytes

IGNORED = -100
INTERFACE = os.environ.get("GLOO_SOCKET_IFNAME", "lo")


def loss_sum(model, batch):
    """The sum of the losses of all targets: of the next token for rows of labels, of the row for one label a row."""
    batch = dict(batch)
    labels = torch.tensor(batch.pop("labels"))
    logits = model(**{name: torch.tensor(value) for name, value in batch.items()}).logits
    if labels.ndim == 2:
        logits, labels = logits[:, :-1], labels[:, 1:]
    return torch.nn.functional.cross_entropy(logits.float().flatten(0, -2), labels.flatten(), ignore_index=IGNORED,
                                             reduction="sum")


def targets(batch):
    labels = torch.tensor(batch["labels"])
    return ((labels[:, 1:] if labels.ndim == 2 else labels) != IGNORED).sum().item()


def blocks(model):
    """The layers of the model: the elements of its longest list of modules."""
    return max((m for m in model.modules() if isinstance(m, torch.nn.ModuleList)), key=len)


class Side:
    def __init__(self, folder, kind):
        transformers.logging.disable_progress_bar()
        name = json.loads((pathlib.Path(folder) / "config.json").read_text())["architectures"][0]
        self.model = getattr(transformers, name).from_pretrained(folder, dtype=torch.float32).train()
        decayed = transformers.Trainer.get_decay_parameter_names(None, self.model)
        if kind == "fsdp":
            for block in blocks(self.model):
                fully_shard(block)
            self.trained = fully_shard(self.model)
        else:
            self.trained = torch.nn.parallel.DistributedDataParallel(self.model)
        self.groups = [[p for n, p in self.model.named_parameters() if (n in decayed) == decay] for decay in (True, False)]
        self.optimizer = None

    def train(self, batches, learning_rate, weight_decay=0.01, decay_steps=0):
        """An optimizer step on each batch, a list of this rank's micro-batches; the loss is the one before the update.
        With decay_steps the rate falls linearly to 0 at that step. Says seconds and bytes of the wire of each step."""
        if self.optimizer is None:
            self.optimizer = torch.optim.AdamW([dict(params=self.groups[0], weight_decay=weight_decay),
                                                dict(params=self.groups[1], weight_decay=0.0)], lr=learning_rate, fused=True)
        seconds, losses, sent = [], [], []
        for step, micro in enumerate(batches):
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate * (1 - step / decay_steps if decay_steps else 1)
            before, start = interface_bytes(INTERFACE), time.perf_counter()
            losses.append(self.step(micro))
            seconds.append(time.perf_counter() - start)
            sent.append(interface_bytes(INTERFACE) - before)
        return dict(step_seconds=seconds, loss=losses, sent_bytes=sent)

    def step(self, micro):
        ranks = dist.get_world_size()
        count = torch.tensor([float(sum(map(targets, micro)))], dtype=torch.float64)
        dist.all_reduce(count)
        total = torch.zeros(1, dtype=torch.float64)
        for i, batch in enumerate(micro):
            self.sync(i + 1 == len(micro))
            loss = loss_sum(self.trained, batch)
            total += loss.item()
            (loss * (ranks / count.item())).backward()  # both average gradients over the ranks
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        dist.all_reduce(total)
        return (total / count).item()

    def sync(self, now):
        """Gradients are reduced after the last micro-batch only."""
        if hasattr(self.trained, "set_requires_gradient_sync"):
            self.trained.set_requires_gradient_sync(now)
        else:
            self.trained.require_backward_grad_sync = now


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Whatever a library prints must not land among the answers.
    torch.set_num_threads(1)
    store, rank, ranks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    dist.init_process_group("gloo", store=dist.FileStore(store, ranks), rank=rank, world_size=ranks)
    side = None
    for line in sys.stdin:
        request = json.loads(line)
        if request.pop("do") == "load":
            side, said = Side(**request), dict(torch=torch.__version__, transformers=transformers.__version__)
        else:
            said = side.train(**request)
        answers.write(json.dumps(said) + "\n")
        answers.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
