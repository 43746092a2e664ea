#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/sft: a tiny Llama with a tokenizer and a chat template, and what TRL's SFTTrainer
makes of rows of instructions: tokens, labels and ten losses.

    tools/golden_sft.py

    model/          what a user's model folder holds
    golden.json     cases: {name, rows, settings, template (file beside it, or null), ids, labels}; train: {settings, losses, grad_norms, eval_loss after them}
    *.jinja         chat templates
    train.jsonl     the rows of `train`
"""
import json
import os
import pathlib
import shutil
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
import torch
from datasets import Dataset
from golden_models import write_json
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from torch.utils.data import SequentialSampler
from trl import SFTConfig, SFTTrainer

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "sft"
TURN = "{{ '<|im_start|>' + m.role + '\\n' }}"
PLAIN = ("{% for m in messages %}" + TURN + "{{ m.content + '<|im_end|>\\n' }}{% endfor %}"
         "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
MARKED = ("{% for m in messages %}" + TURN + "{% if m.role == 'assistant' %}"
          "{% generation %}{{ m.content + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}"
          "{% else %}{{ m.content + '<|im_end|>\\n' }}{% endif %}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
# Thoughts are written in the last turn alone, as Qwen3 does.
THINKING = ("{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}"
            "{% endif %}{% endfor %}{% for m in messages %}" + TURN + "{% if m.role == 'assistant' %}"
            "GENERATION{% if loop.index0 > ns.last %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
            "{{ m.content + '<|im_end|>' }}END{{ '\\n' }}"
            "{% else %}{{ m.content + '<|im_end|>\\n' }}{% endif %}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
TEMPLATES = {
    "plain": PLAIN,
    "marked": MARKED,
    "thinking": THINKING.replace("GENERATION", "").replace("END", ""),
    "thinking_marked": THINKING.replace("GENERATION", "{% generation %}").replace("END", "{% endgeneration %}"),
}
CORPUS = ["the river rose in the night and the bridge was gone by the morning",
          "what is the capital of france? paris is the capital of france.",
          "translate the sentence into french: the cat sleeps by the fire", "you are a helpful assistant",
          "one two three four five six seven eight nine ten", "naïve café 日本 🙂"]


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


SYSTEM = {"role": "system", "content": "you are a helpful assistant"}
CHATS = [
    {"messages": [SYSTEM, user("what is the capital of france?"), assistant("paris is the capital of france.")]},
    {"messages": [user("one two"), assistant("three four"), user("five"), assistant("six 🙂"), user("seven"),
                  assistant("naïve café 日本")]},
    {"messages": [user("the cat"), assistant("sleeps by the fire\n")]},
]
PAIRS = [{"prompt": "what is the capital of france? ", "completion": "paris"},
         {"prompt": "the cat", "completion": "s sleep by the fire<|endoftext|>"},
         {"prompt": "one two three", "completion": " four five six"}]
CHAT_PAIRS = [{"prompt": [SYSTEM, user("one two")], "completion": [assistant("three four")]},
              {"prompt": [user("the cat"), assistant("sleeps"), user("where?")],
               "completion": [assistant("by the fire")]}]
TEXTS = [{"text": "the river rose in the night"}, {"text": "the bridge was gone<|endoftext|>"}]
CASES = [
    ("text", TEXTS, {}, None),
    ("pairs", PAIRS, {}, None),
    ("pairs_whole", PAIRS, {"completion_only_loss": False}, None),
    ("chats", CHATS, {}, None),
    ("chats_cut", CHATS, {"max_length": 24}, None),
    ("chat_pairs", CHAT_PAIRS, {}, None),
    ("chat_pairs_whole", CHAT_PAIRS, {"completion_only_loss": False}, None),
    ("answers", CHATS, {"assistant_only_loss": True}, "marked"),
    ("chat_pairs_answers", CHAT_PAIRS, {"assistant_only_loss": True}, "marked"),
    ("thinking", CHATS, {"assistant_only_loss": True}, "thinking_marked"),
]
# Without marks hone finds the same answers: the rows of the case with marks.
FOUND = {"answers": "plain", "thinking": "thinking"}


def make_model(folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>",
                                   extra_special_tokens=["<|im_start|>", "<|im_end|>"])
    fast.chat_template = PLAIN
    fast.save_pretrained(folder)
    torch.manual_seed(7)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=len(fast), hidden_size=24, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=True, bos_token_id=None, eos_token_id=0,
        pad_token_id=0))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1:
                parameter.copy_(0.3 * torch.randn(parameter.shape))
    model.float().save_pretrained(folder)


class Ordered(SFTTrainer):
    def _get_train_sampler(self, dataset=None):
        return SequentialSampler(self.train_dataset if dataset is None else dataset)


def trainer_of(rows, settings, template, out):
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "model")
    if template:
        tokenizer.chat_template = TEMPLATES[template]
    torch.manual_seed(1)
    return Ordered(
        model=LlamaForCausalLM.from_pretrained(ROOT / "model", dtype=torch.float32, attn_implementation="eager"),
        args=SFTConfig(output_dir=out, report_to="none", use_cpu=True, bf16=False, gradient_checkpointing=False,
                       disable_tqdm=True, logging_steps=1, save_strategy="no", **settings),
        train_dataset=Dataset.from_list(rows), processing_class=tokenizer)


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    (ROOT / "model").mkdir(parents=True)
    make_model(ROOT / "model")
    for name, text in TEMPLATES.items():
        (ROOT / f"{name}.jinja").write_text(text)
    cases = []
    with tempfile.TemporaryDirectory() as out:
        for name, rows, settings, template in CASES:
            made = trainer_of(rows, settings, template, out).train_dataset
            case = dict(name=name, rows=rows, settings=settings, template=template, ids=list(made["input_ids"]),
                        labels=list(made["labels"]))
            cases.append(case)
            if name in FOUND:
                cases.append({**case, "name": name + "_found", "template": FOUND[name]})
        rows = (CHAT_PAIRS + [{"prompt": c["messages"][:-1], "completion": c["messages"][-1:]} for c in CHATS]) * 4
        settings = dict(per_device_train_batch_size=2, learning_rate=1e-3, lr_scheduler_type="constant", max_steps=10,
                        weight_decay=0.0, max_grad_norm=1.0, seed=1)
        trainer = trainer_of(rows, settings, None, out)
        trainer.train()
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        final = trainer.evaluate(trainer.train_dataset)["eval_loss"]
        norms = [entry["grad_norm"] for entry in trainer.state.log_history if "loss" in entry]
    with open(ROOT / "train.jsonl", "w") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    write_json(ROOT / "golden.json", dict(cases=cases, train=dict(settings=settings, losses=losses, grad_norms=norms, eval_loss=final)))


if __name__ == "__main__":
    main()
