#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/adapters: LoRA adapters of tiny models by PEFT, and what PEFT says of them.

    tools/golden_adapters.py [CASE ...]        (no name: all of them; needs `peft` and `bitsandbytes`)

Each folder holds what PEFT's save_pretrained writes (adapter_config.json, adapter_model.safetensors), for the model of
tests/goldens that golden.json names as `base`, and expected values:

golden.safetensors   logits.<i>      f32 of row i run alone: [tokens, vocab], or [labels]
                     grad.<name>     f32, gradient of `loss` for every tensor of the adapter's file
golden.json          base, rows: list of {ids, labels} and what the model reads besides (types; source)
                     loss            mean over labels
                     losses          of ten steps of AdamW over all rows; settings: its arguments
                 quantization    arguments of BitsAndBytesConfig, where the base is in few bits

A case with init_lora_weights begins with singular values of the base: its folder has no adapter, golden.json the
`arguments` of LoraConfig, and logits.<i> are those after ten steps.
"""
import pathlib
import sys
import warnings

import peft
import torch
import transformers
from golden_models import random_rows, write_json
from golden_quantize import use_plain_kernels
from safetensors.torch import load_file, save_file
from transformers.trainer import Trainer

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"
SETTINGS = dict(learning_rate=1e-2, adam_beta1=0.9, adam_beta2=0.999, adam_epsilon=1e-8, weight_decay=0.01,
                max_grad_norm=1.0)
# At 1e-2 its ten steps multiply differences of 1e-6 in a loss by 200.
OTHER_SETTINGS = {"llama_lora": dict(learning_rate=2e-3)}
STEPS = 10

# Base, class, the arguments of LoraConfig and those of BitsAndBytesConfig.
CASES = {
    "gpt2_lora": ("models/gpt2_tiny", transformers.AutoModelForCausalLM,
                  dict(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules=["c_attn", "mlp.c_proj", "c_fc"])),
    "llama_lora": ("models/llama_untied_tiny", transformers.AutoModelForCausalLM,
                   dict(task_type="CAUSAL_LM", r=4, lora_alpha=6, use_rslora=True, target_modules="all-linear")),
    "bert_lora": ("encoders/bert_sequence_classification", transformers.AutoModelForSequenceClassification,
                  dict(task_type="SEQ_CLS", r=2, lora_alpha=3, target_modules=["query", "value", "dense"])),
    "t5_lora": ("models/t5_tiny", transformers.AutoModelForSeq2SeqLM, dict(task_type="SEQ_2_SEQ_LM", r=3, lora_alpha=3)),
    "gpt2_dora": ("models/gpt2_tiny", transformers.AutoModelForCausalLM,
                  dict(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules=["c_attn", "mlp.c_proj"], use_dora=True)),
    "llama_dora": ("models/llama_untied_tiny", transformers.AutoModelForCausalLM,
                   dict(task_type="CAUSAL_LM", r=2, lora_alpha=4, target_modules="all-linear", use_dora=True)),
    "bert_dora": ("encoders/bert_sequence_classification", transformers.AutoModelForSequenceClassification,
                  dict(task_type="SEQ_CLS", r=2, lora_alpha=3, use_dora=True)),
    "t5_dora": ("models/t5_tiny", transformers.AutoModelForSeq2SeqLM,
                dict(task_type="SEQ_2_SEQ_LM", r=3, lora_alpha=3, use_dora=True)),
    "llama_qlora": ("models/llama_untied_tiny", transformers.AutoModelForCausalLM,
                    dict(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules="all-linear"),
                    dict(load_in_4bit=True, bnb_4bit_quant_type="nf4")),
    "llama_qdora": ("models/llama_untied_tiny", transformers.AutoModelForCausalLM,
                    dict(task_type="CAUSAL_LM", r=2, lora_alpha=4, target_modules="all-linear", use_dora=True),
                    dict(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True)),
    "gpt2_qlora": ("models/gpt2_tiny", transformers.AutoModelForCausalLM,
                   dict(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules=["c_attn", "mlp.c_proj"]),
                   dict(load_in_4bit=True, bnb_4bit_quant_type="fp4")),
    "t5_qlora": ("models/t5_tiny", transformers.AutoModelForSeq2SeqLM,
                 dict(task_type="SEQ_2_SEQ_LM", r=3, lora_alpha=3),
                 dict(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True)),
    # Attention, a usual MLP, the shared experts and their gates.
    "qwen2_moe_lora": ("models/qwen2_moe_tiny", transformers.AutoModelForCausalLM,
                       dict(task_type="CAUSAL_LM", r=2, lora_alpha=4, target_modules="all-linear")),
    # Stacked matrices of experts, [experts,out,in]; beside layers, and one of the two with a rank of its own.
    "mixtral_experts_lora": ("models/mixtral_tiny", transformers.AutoModelForCausalLM, dict(
        task_type="CAUSAL_LM", r=2, lora_alpha=4, target_modules=["q_proj"],
        target_parameters=["mlp.experts.gate_up_proj", "mlp.experts.down_proj"],
        rank_pattern={"experts.down_proj": 3})),
    # [experts,in,out], and alone.
    "gpt_oss_experts_lora": ("models/gpt_oss_tiny", transformers.AutoModelForCausalLM, dict(
        task_type="CAUSAL_LM", r=2, lora_alpha=4, target_modules=[],
        target_parameters=["experts.gate_up_proj", "experts.down_proj"])),
    "qwen3_moe_experts_lora": ("models/qwen3_moe_tiny", transformers.AutoModelForCausalLM, dict(
        task_type="CAUSAL_LM", r=2, lora_alpha=6, use_rslora=True, target_modules=[],
        target_parameters=["experts.down_proj"])),
    "gpt2_pissa": ("models/gpt2_tiny", transformers.AutoModelForCausalLM,
                   dict(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules=["c_attn", "mlp.c_proj"],
                        init_lora_weights="pissa")),
    "llama_pissa": ("models/llama_untied_tiny", transformers.AutoModelForCausalLM,
                    dict(task_type="CAUSAL_LM", r=3, lora_alpha=6, use_rslora=True,
                         target_modules=["q_proj", "v_proj", "up_proj", "down_proj"], init_lora_weights="pissa")),
}


def file_name(name):
    """The name in the adapter's file of a parameter of PeftModel."""
    for part in (".modules_to_save.default", ".default"):
        name = name.replace(part, "")
    return name.replace("lora_magnitude_vector.weight", "lora_magnitude_vector")


def make_rows(task, config, generator):
    rows = []
    for ids in random_rows((9, 14, 6), generator):
        row = dict(ids=[3 + i % 50 for i in ids])
        if task == "CAUSAL_LM":
            row["labels"] = row["ids"][1:] + [-100]
        elif task == "SEQ_CLS":
            row["types"] = [0] * 3 + [1] * (len(ids) - 3)
            row["labels"] = [len(ids) % 3]
        else:
            row["source"], target = row["ids"][: len(ids) // 2] + [1], row["ids"][len(ids) // 2:] + [1]
            row["labels"], row["ids"] = target, [config.decoder_start_token_id] + target[:-1]
        rows.append(row)
    return rows


def logits_of(model, row):
    ids = torch.tensor([row["ids"]])
    if "source" in row:
        return model(input_ids=torch.tensor([row["source"]]), decoder_input_ids=ids, use_cache=False).logits[0]
    if "types" in row:
        return model(input_ids=ids, token_type_ids=torch.tensor([row["types"]])).logits
    return model(input_ids=ids).logits[0]


def loss_of(model, rows):
    labels = sum(1 for row in rows for x in row["labels"] if x != -100)
    return sum(torch.nn.functional.cross_entropy(logits_of(model, row), torch.tensor(row["labels"]), reduction="sum")
               for row in rows) / labels


def make(case):
    settings = {**SETTINGS, **OTHER_SETTINGS.get(case, {})}
    torch.set_num_threads(1)
    torch.manual_seed(4000 + list(CASES).index(case))
    generator = torch.Generator().manual_seed(4000 + list(CASES).index(case))
    base, model_class, arguments, *quantization = CASES[case]
    options = {}
    if quantization:
        options = dict(quantization_config=transformers.BitsAndBytesConfig(**quantization[0]), device_map="cpu")
    model = model_class.from_pretrained(ROOT / base, attn_implementation="eager", dtype=torch.float32,
                                        **(dict(experts_implementation="eager") if "moe" in case or "experts" in case
                                           else {}), **options)
    for module in model.modules():  # the plain way of bitsandbytes: no repacking for bfloat16 products
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False
    model = peft.get_peft_model(model, peft.LoraConfig(**arguments)).eval()  # no dropout
    begins_principal = "init_lora_weights" in arguments
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if begins_principal:
                break
            if ".lora_B." in name:
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
            elif "lora_magnitude" in name:
                parameter.mul_(1 + 0.2 * torch.rand(parameter.shape, generator=generator))
    folder = ROOT / "adapters" / case
    if begins_principal:
        folder.mkdir(exist_ok=True)
    else:
        model.save_pretrained(folder)
        (folder / "README.md").unlink()
        config = folder / "adapter_config.json"
        config.write_text(config.read_text().replace(str(ROOT / base), base))
    rows = make_rows(arguments["task_type"], model.config, generator)
    tensors = {f"logits.{i}": logits_of(model, row).detach().clone() for i, row in enumerate(rows)}
    loss = loss_of(model, rows)
    loss.backward()
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    for name, p in trained.items():
        tensors["grad." + file_name(name)] = p.grad.detach().clone().contiguous()
    if begins_principal:
        tensors = {}
    elif {k[5:] for k in tensors if k.startswith("grad.")} != set(load_file(folder / "adapter_model.safetensors")):
        raise SystemExit(f"{case}: the adapter's file holds other tensors than those that are trained")
    decayed = Trainer.get_decay_parameter_names(None, model)
    optimizer = torch.optim.AdamW(
        [dict(params=[p for n, p in trained.items() if n in decayed], weight_decay=settings["weight_decay"]),
         dict(params=[p for n, p in trained.items() if n not in decayed], weight_decay=0.0)],
        lr=settings["learning_rate"], betas=(0.9, 0.999), eps=1e-8)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = loss_of(model, rows)
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings["max_grad_norm"])
        optimizer.step()
        losses.append(value.item())
    if begins_principal:
        tensors = {f"logits.{i}": logits_of(model, row).detach().clone() for i, row in enumerate(rows)}
    save_file(tensors, folder / "golden.safetensors")
    for file in folder.iterdir():
        file.chmod(0o644)
    write_json(folder / "golden.json", dict(
        made_by=f"peft {peft.__version__}, transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}",
        base=base, rows=rows, loss=loss.item(), losses=losses, settings=settings,
        **(dict(quantization=quantization[0]) if quantization else {}),
        **(dict(arguments=arguments) if begins_principal else {})))
    print(f"{case}: {sum(f.stat().st_size for f in folder.iterdir()) / 1000:.0f} kB, "
          f"losses {losses[0]:.4f} -> {losses[-1]:.4f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    held = use_plain_kernels()
    for each in sys.argv[1:] or list(CASES):
        make(each)
