#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/preference: ten losses of TRL's DPOTrainer, KTOTrainer and RewardTrainer, with the
values of their logs, on the tiny Llama of tests/goldens/sft.

    tools/golden_preference.py

    golden.json     by task: {name: {flags, rows (a file beside it), log: the entries of ten steps, eval: of the rows after them}}
    *.jsonl         rows: pairs with a prompt, pairs without, chats, labels
    reward/         the model of the task reward
"""
import json
import os
import pathlib
import random
import re
import shutil
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
import torch
from datasets import Dataset
from golden_models import write_json
from torch.utils.data import SequentialSampler
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification
from trl import DPOConfig, DPOTrainer, KTOConfig, KTOTrainer, RewardConfig, RewardTrainer

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "preference"
MODEL = ROOT.parent / "sft" / "model"
STEPS = 10
KEPT = re.compile("(eval_)?(loss|kl|accuracy|margin|mean_reward|mean_token_accuracy|(rewards|logps)/.*)|grad_norm")
CASES = {
    "sigmoid": {}, "hinge": {}, "ipo": {}, "exo_pair": dict(label_smoothing=0.1), "nca_pair": {},
    "robust": dict(label_smoothing=0.1), "bco_pair": {}, "sppo_hard": {}, "aot": dict(label_smoothing=0.1),
    "apo_zero": {}, "apo_down": {}, "discopop": {}, "sft": {}, "sigmoid_norm": {},
}
DPO = {name: (dict(loss_type=[name], **more), "pairs") for name, more in CASES.items()}
DPO.update({
    "mixed": (dict(loss_type=["sigmoid", "bco_pair", "sft"], loss_weights=[0.8, 0.2, 1.0], beta=0.3), "implicit"),
    "chats": (dict(loss_type=["sigmoid"], max_length=40), "chats"),
    "ld_alpha": (dict(loss_type=["sigmoid"], ld_alpha=0.25), "pairs"),
    "forward_kl": (dict(loss_type=["sigmoid"], f_divergence_type="forward_kl"), "pairs"),
    "js_divergence": (dict(loss_type=["sigmoid"], f_divergence_type="js_divergence"), "pairs"),
    "alpha_divergence": (dict(loss_type=["sigmoid"], f_divergence_type="alpha_divergence"), "pairs"),
})
KTO = {
    "kto": (dict(loss_type="kto", desirable_weight=0.7), "labels"),
    "kto_of_pairs": (dict(loss_type="kto"), "pairs"),
    "apo_zero_unpaired": (dict(loss_type="apo_zero_unpaired", undesirable_weight=1.3), "labels"),
}
REWARD = {"plain": ({}, "pairs"), "centered": (dict(center_rewards_coefficient=0.01), "margins"),
          "chats": ({}, "chats")}
WORDS = ("the river rose in night and bridge was gone by morning what is capital of france paris translate sentence cat "
         "sleeps fire you are a helpful assistant one two three four five six").split()


def texts(seed, rows=2 * STEPS):
    rng = random.Random(seed)

    def words(least, most):
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, most)))

    for _ in range(rows):
        yield words(2, 7) + "?", " " + words(1, 6), " " + words(1, 6), words(1, 3)


def make_rows():
    pairs = [dict(prompt=p, chosen=c, rejected=r) for p, c, r, _ in texts(1)]
    user = lambda text: {"role": "user", "content": text}
    assistant = lambda text: {"role": "assistant", "content": text.strip()}
    return {
        "pairs": pairs,
        "implicit": [dict(chosen=p + c, rejected=p + r) for p, c, r, _ in texts(2)],
        "chats": [dict(chosen=[user(p), assistant(c)], rejected=[user(p), assistant(r)]) for p, c, r, _ in texts(3)],
        "labels": [dict(prompt=p, completion=c, label=i % 3 != 1) for i, (p, c, _, _) in enumerate(texts(4))],
        "margins": [dict(prompt=p, chosen=c, rejected=r, margin=len(m) / 10) for p, c, r, m in texts(5)],
    }


def run(trainer_class, config_class, model_class, model, flags, rows, out):
    class Ordered(trainer_class):
        def _get_train_sampler(self, dataset=None):
            return SequentialSampler(self.train_dataset if dataset is None else dataset)

    torch.manual_seed(1)
    args = config_class(output_dir=out, report_to="none", use_cpu=True, bf16=False, gradient_checkpointing=False,
                        disable_tqdm=True, logging_steps=1, save_strategy="no", per_device_train_batch_size=2,
                        per_device_eval_batch_size=2, learning_rate=1e-3, lr_scheduler_type="constant", max_steps=STEPS,
                        weight_decay=0.0, max_grad_norm=1.0, seed=1, **flags)
    trainer = Ordered(model=model_class.from_pretrained(model, dtype=torch.float32, attn_implementation="eager"),
                      args=args, train_dataset=Dataset.from_list(rows), eval_dataset=Dataset.from_list(rows),
                      processing_class=AutoTokenizer.from_pretrained(MODEL))
    trainer.train()
    keep = lambda entry: {k: float(f"{v:.7g}") for k, v in entry.items() if KEPT.fullmatch(k)}
    log = [keep(entry) for entry in trainer.state.log_history if "loss" in entry]
    assert len(log) == STEPS
    return dict(log=log, eval=keep(trainer.evaluate()))


def make_reward_model(folder):
    base = LlamaForCausalLM.from_pretrained(MODEL, dtype=torch.float32)
    config = LlamaConfig.from_pretrained(MODEL)
    config.num_labels = 1
    torch.manual_seed(3)
    model = LlamaForSequenceClassification(config).float()
    model.model.load_state_dict(base.model.state_dict())
    with torch.no_grad():
        model.score.weight.copy_(0.3 * torch.randn(model.score.weight.shape))
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(MODEL).save_pretrained(folder)


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    (ROOT / "reward").mkdir(parents=True)
    make_reward_model(ROOT / "reward")
    rows = make_rows()
    for name, some in rows.items():
        with open(ROOT / f"{name}.jsonl", "w") as file:
            for row in some:
                file.write(json.dumps(row) + "\n")
    golden = {}
    kinds = dict(dpo=(DPO, DPOTrainer, DPOConfig, LlamaForCausalLM, MODEL),
                 kto=(KTO, KTOTrainer, KTOConfig, LlamaForCausalLM, MODEL),
                 reward=(REWARD, RewardTrainer, RewardConfig, LlamaForSequenceClassification, ROOT / "reward"))
    for task, (cases, *how) in kinds.items():
        golden[task] = {}
        for name, (flags, file) in cases.items():
            with tempfile.TemporaryDirectory() as out:
                golden[task][name] = dict(flags=flags, rows=file, **run(*how, flags, rows[file], out))
    write_json(ROOT / "golden.json", golden)


if __name__ == "__main__":
    main()
