"""The Transformers side of the benchmarks, as a process that is asked over its standard input.

    peer.py MODEL_FOLDER [compile] [bf16]     requests are JSON lines: {"do": "ready" | "probe" | "train" | "generate" | "peak", ...}

Training is the plain eager loop, without Trainer's own costs, with what Trainer chooses: SDPA attention, fused AdamW,
clipping at 1.0, the model's dropout. With `compile` the model goes through torch.compile; with `bf16` the forward pass
is under autocast, as with Trainer's --bf16.
"""
import json
import os
import sys
import time

import torch
import transformers

import common


def probe(size=2048, tries=4):
    """GFLOP/s of the best of a few f32 matmuls: what the clock gives at this moment."""
    a, b = probe.buffers = getattr(probe, "buffers", None) or (torch.randn(size, size), torch.randn(size, size))
    best = float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best / 1e9


class Side:
    def __init__(self, folder, compiled, bf16):
        self.precision = lambda: torch.autocast("cpu", torch.bfloat16, enabled=bf16)
        transformers.logging.disable_progress_bar()
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self.optimizer = None
        self.trained = torch.compile(self.model) if compiled else self.model

    def train(self, rows, steps, learning_rate):
        """`steps` optimizer steps on the same rows; the loss is the one before each update."""
        model, run = self.model.train(), self.trained
        if self.optimizer is None:
            decayed = transformers.Trainer.get_decay_parameter_names(None, model)
            groups = [dict(params=[p for n, p in model.named_parameters() if (n in decayed) == decay],
                           weight_decay=0.01 if decay else 0.0) for decay in (True, False)]
            self.optimizer = torch.optim.AdamW(groups, lr=learning_rate, fused=True)
        ids = torch.tensor(rows)
        seconds, losses = [], []
        for _ in range(steps):
            start = time.perf_counter()
            with self.precision():
                loss = run(input_ids=ids, labels=ids, use_cache=False).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            losses.append(loss.item())
            seconds.append(time.perf_counter() - start)
        return dict(step_seconds=seconds, loss=losses)

    def generate(self, rows, new_tokens):
        """Greedy continuation of prompts of equal length; no end token, so every row makes all its tokens."""
        model = self.model.eval()
        model.generation_config = transformers.GenerationConfig(pad_token_id=0)
        ids = torch.tensor(rows)
        start = time.perf_counter()
        with torch.no_grad():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=new_tokens)
        return dict(seconds=time.perf_counter() - start, tokens=out[:, ids.shape[1]:].tolist())


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Whatever a library prints must not land among the answers.
    torch.set_num_threads(common.THREADS)
    torch.manual_seed(0)
    side = Side(sys.argv[1], "compile" in sys.argv[2:], "bf16" in sys.argv[2:])
    doors = dict(ready=lambda: dict(torch=torch.__version__, transformers=transformers.__version__),
                 probe=lambda: dict(gflops=probe()), train=side.train, generate=side.generate,
                 peak=lambda: dict(bytes=common.own_peak_bytes()))
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps(doors[request.pop("do")](**request)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
