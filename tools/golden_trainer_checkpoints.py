#!/usr/bin/env python3
"""Makes tests/goldens/trainer_checkpoints again: checkpoints that Transformers' Trainer saves alone.

Needs torch, transformers and peft. Model, rows and settings are those of tests/goldens/peer_checkpoints.

gpt2/checkpoint-4    the whole model in one process
qwen2/checkpoint-4   a model whose modules have another order than its computation
lora/checkpoint-4    PEFT's adapter beside the model of peer_checkpoints
losses.json          for each, losses of all steps, and those after the checkpoint; Trainer continues its checkpoint with the same
"""
import json
import pathlib
import shutil
import tempfile

import golden_peer_checkpoints as peers

FOLDER = peers.FOLDER.parent / "trainer_checkpoints"
S = peers.SETTINGS


def make_model(kind):
    import torch
    import transformers
    if kind == "qwen2":
        torch.manual_seed(5)
        vocab = len(transformers.AutoTokenizer.from_pretrained(peers.FOLDER / "model"))
        model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
            vocab_size=vocab, hidden_size=8, intermediate_size=8, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=2, max_position_embeddings=32, bos_token_id=vocab - 1, eos_token_id=vocab - 1))
        with torch.no_grad():
            for p in model.parameters():
                p.add_(0.2 * torch.randn(p.shape))
        return model
    model = peers.load_model()
    if kind == "lora":
        from peft import LoraConfig, get_peft_model
        torch.manual_seed(7)
        model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn", "c_proj"], lora_dropout=0.0,
                                                 fan_in_fan_out=True, task_type="CAUSAL_LM"))
    return model


def train(kind, folder, checkpoint=None):
    """The losses of the steps."""
    import torch
    import transformers
    tokenizer = transformers.AutoTokenizer.from_pretrained(peers.FOLDER / "model")
    losses = []

    class InOrder(transformers.Trainer):
        def _get_train_sampler(self, *_):
            return torch.utils.data.SequentialSampler(self.train_dataset)

        def training_step(self, *args, **kwargs):
            losses.append(super().training_step(*args, **kwargs).item())
            return torch.tensor(losses[-1])

    def batch(rows):
        length = max(map(len, rows))
        return dict(input_ids=torch.tensor([row + [0] * (length - len(row)) for row in rows]),
                    attention_mask=torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows]),
                    # Trainer counts the first token as a target, which it is not.
                    labels=torch.tensor([[-100] + row[1:] + [-100] * (length - len(row)) for row in rows]))

    InOrder(model=make_model(kind), data_collator=batch, train_dataset=peers.load_rows(), processing_class=tokenizer,
            args=transformers.TrainingArguments(
                output_dir=str(folder), per_device_train_batch_size=S["rows_per_step"], max_steps=S["max_steps"],
                learning_rate=S["learning_rate"], weight_decay=S["weight_decay"], warmup_steps=S["warmup_steps"],
                max_grad_norm=S["max_grad_norm"], lr_scheduler_type=S["lr_scheduler_type"], save_steps=peers.SAVED,
                logging_steps=1, report_to=[], disable_tqdm=True, use_cpu=True, remove_unused_columns=False)
            ).train(resume_from_checkpoint=checkpoint)
    return losses


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    losses, continued = {}, {}
    for kind in ("gpt2", "qwen2", "lora"):
        with tempfile.TemporaryDirectory() as place:
            losses[kind] = train(kind, place)
            saved = f"checkpoint-{peers.SAVED}"
            shutil.copytree(pathlib.Path(place) / saved, FOLDER / kind / saved, ignore=shutil.ignore_patterns("README.md"))
            again = train(kind, place, str(pathlib.Path(place) / saved))
            peers.check(kind, again, losses[kind][peers.SAVED:], 1e-6)
            continued[kind] = losses[kind][peers.SAVED:]
    (FOLDER / "losses.json").write_text(json.dumps(dict(losses=losses, continued=continued), indent=1) + "\n")
    for path in FOLDER.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


if __name__ == "__main__":
    main()
