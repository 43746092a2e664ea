#!/usr/bin/env python3
"""Makes the goldens of tests/goldens/bitsandbytes: tiny models that Transformers saved in 4 and 8 bits.

    tools/golden_bitsandbytes.py            (needs `peft` and `bitsandbytes`)

llama_nf4, gpt2_fp4, llama_int8   what save_pretrained writes, and in golden.safetensors under the names of weights
                                  their values as bitsandbytes widens them, f32 [out,in]

And tests/goldens/adapters/llama_saved_nf4 and gpt2_saved_fp4 (golden_adapters.py): an adapter beside a saved model.
"""
import shutil

import bitsandbytes
import golden_adapters
import torch
import transformers
from golden_adapters import ROOT
from golden_quantize import use_plain_kernels
from safetensors.torch import load_file, save_file

FOUR = dict(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True)
BASES = {"llama_nf4": ("models/llama_untied_tiny", FOUR),
         "gpt2_fp4": ("models/gpt2_tiny", dict(load_in_4bit=True, bnb_4bit_quant_type="fp4")),
         "llama_int8": ("models/llama_untied_tiny", dict(load_in_8bit=True))}
LM = transformers.AutoModelForCausalLM
CASES = {"llama_saved_nf4": ("bitsandbytes/llama_nf4", LM, dict(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules="all-linear")),
         "gpt2_saved_fp4": ("bitsandbytes/gpt2_fp4", LM, dict(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules=["c_attn", "mlp.c_proj"]))}


def widened(module):
    if isinstance(module, bitsandbytes.nn.Linear4bit):
        return bitsandbytes.functional.dequantize_4bit(module.weight.data, module.weight.quant_state)
    return bitsandbytes.functional.int8_vectorwise_dequant(module.weight.data, module.weight.SCB)


def make_base(name):
    source, arguments = BASES[name]
    model = LM.from_pretrained(ROOT / source, dtype=torch.float32, device_map="cpu",
                               quantization_config=transformers.BitsAndBytesConfig(**arguments))
    folder = ROOT / "bitsandbytes" / name
    model.save_pretrained(folder)
    values = {f"{n}.weight": widened(m).float().contiguous() for n, m in model.named_modules()
              if isinstance(m, (bitsandbytes.nn.Linear4bit, bitsandbytes.nn.Linear8bitLt))}
    save_file(values, folder / "golden.safetensors")
    for file in folder.iterdir():
        file.chmod(0o644)
    print(name, len(values), f"{sum(f.stat().st_size for f in folder.iterdir()) / 1000:.0f} kB", list(load_file(folder / "model.safetensors"))[:6])


if __name__ == "__main__":
    held = use_plain_kernels()
    for each in BASES:
        shutil.rmtree(ROOT / "bitsandbytes" / each, ignore_errors=True)
        make_base(each)
    golden_adapters.CASES = CASES
    for each in CASES:
        golden_adapters.make(each)
