"""The peers' side of the benchmarks, as a process that is asked over its standard input.

    peer.py MODEL_FOLDER [compile] [bf16] [ctranslate2] [adapter=FOLDER] [device=cuda]     requests are JSON lines: {"do":
                                      "ready" | "probe" | "train" | "train_batches" | "generate" | "summarize" | "peak", ...}

The peer is Transformers, the model of the class that config.json names; with `ctranslate2` it is that, which
summarizes alone, with the same weights converted to its format beside the folder. With `adapter` PEFT trains that one.

Training is the plain eager loop, without Trainer's own costs, with what Trainer chooses: SDPA attention, fused AdamW,
clipping at 1.0, the model's dropout. With `compile` the model goes through torch.compile; with `bf16` the forward pass
is under autocast, as with Trainer's --bf16.
"""
import json
import os
import pathlib
import sys
import time

import torch
import transformers

import common


def probe(size=2048, tries=4, device="cpu"):
    """GFLOP/s of the best of a few matmuls, f32 or on a GPU bf16: what the clock gives at this moment."""
    if device != "cpu":
        size = 8192
    how = dict(device=device, dtype=torch.float32 if device == "cpu" else torch.bfloat16)
    a, b = probe.buffers = getattr(probe, "buffers", None) or (torch.randn(size, size, **how), torch.randn(size, size, **how))
    best = float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        torch.mm(a, b)
        finish(device)
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best / 1e9


def finish(device):
    if device != "cpu":
        torch.cuda.synchronize()


def peak_bytes(device):
    return common.own_peak_bytes() if device == "cpu" else torch.cuda.max_memory_reserved()


class Side:
    def __init__(self, folder, compiled, bf16, adapter=None, device="cpu"):
        self.device = device
        self.precision = lambda: torch.autocast(device.split(":")[0], torch.bfloat16, enabled=bf16)
        transformers.logging.disable_progress_bar()
        name = json.loads((pathlib.Path(folder) / "config.json").read_text())["architectures"][0]
        self.model = getattr(transformers, name).from_pretrained(folder, dtype=torch.float32).to(device)
        if adapter:
            import peft
            self.model = peft.PeftModel.from_pretrained(self.model, adapter, is_trainable=True)
        self.optimizer = None
        self.trained = torch.compile(self.model) if compiled else self.model

    def train(self, rows, steps, learning_rate):
        """`steps` optimizer steps of causal language modelling on the same rows."""
        return self.train_batches([dict(input_ids=rows, labels=rows, use_cache=False)] * steps, learning_rate)

    def train_batches(self, batches, learning_rate):
        """An optimizer step on each batch of model arguments; the loss is the one before each update."""
        model, run = self.model.train(), self.trained
        if self.optimizer is None:
            decayed = transformers.Trainer.get_decay_parameter_names(None, model)
            groups = [dict(params=[p for n, p in model.named_parameters() if p.requires_grad and (n in decayed) == decay],
                           weight_decay=0.01 if decay else 0.0) for decay in (True, False)]
            self.optimizer = torch.optim.AdamW(groups, lr=learning_rate, fused=True)
        batches = [{name: torch.tensor(v, device=self.device) if isinstance(v, list) else v for name, v in batch.items()}
                   for batch in batches]
        seconds, losses = [], []
        for batch in batches:
            start = time.perf_counter()
            with self.precision():
                loss = run(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            losses.append(loss.item())
            finish(self.device)
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


    def summarize(self, rows, new_tokens, beams, batch):
        """The best beam of each source, `batch` sources at a time, padded to the longest; no end token."""
        model = self.model.eval()
        model.generation_config = transformers.GenerationConfig(
            pad_token_id=0, decoder_start_token_id=model.config.decoder_start_token_id)
        tokens = []
        start = time.perf_counter()
        with torch.no_grad():
            for i in range(0, len(rows), batch):
                part = rows[i:i + batch]
                longest = max(map(len, part))
                ids = torch.tensor([row + [0] * (longest - len(row)) for row in part])
                mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in part])
                out = model.generate(ids, attention_mask=mask, do_sample=False, num_beams=beams,
                                     max_new_tokens=new_tokens)
                tokens += out[:, 1:].tolist()
        return dict(seconds=time.perf_counter() - start, tokens=tokens)


class CTranslate2:
    def __init__(self, folder):
        import ctranslate2
        place = pathlib.Path(str(folder) + "-ctranslate2")
        if not place.exists():
            ctranslate2.converters.TransformersConverter(str(folder)).convert(str(place), quantization="float32")
        self.model = ctranslate2.Translator(str(place), device="cpu", compute_type="float32", inter_threads=1,
                                            intra_threads=common.THREADS)
        self.names = transformers.AutoTokenizer.from_pretrained(folder)

    def summarize(self, rows, new_tokens, beams, batch):
        sources = [self.names.convert_ids_to_tokens(row) for row in rows]
        start = time.perf_counter()
        found = self.model.translate_batch(sources, max_batch_size=batch, beam_size=beams, max_input_length=0,
                                           max_decoding_length=new_tokens, min_decoding_length=new_tokens)
        seconds = time.perf_counter() - start
        return dict(seconds=seconds, tokens=[self.names.convert_tokens_to_ids(f.hypotheses[0]) for f in found])


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Whatever a library prints must not land among the answers.
    torch.set_num_threads(common.THREADS)
    torch.manual_seed(0)
    if "ctranslate2" in sys.argv[2:]:
        side = CTranslate2(sys.argv[1])
    else:
        named = dict(a.split("=", 1) for a in sys.argv[2:] if "=" in a)
        side = Side(sys.argv[1], "compile" in sys.argv[2:], "bf16" in sys.argv[2:], **named)
    device = getattr(side, "device", "cpu")
    doors = dict(ready=lambda: dict(torch=torch.__version__, transformers=transformers.__version__),
                 probe=lambda: dict(gflops=probe(device=device)), peak=lambda: dict(bytes=peak_bytes(device)))
    for name in ("train", "train_batches", "generate", "summarize"):
        if hasattr(side, name):
            doors[name] = getattr(side, name)
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps(doors[request.pop("do")](**request)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
