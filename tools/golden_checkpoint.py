#!/usr/bin/env python3
"""Makes tests/goldens/checkpoint/ again: what safetensors, gguf-py and Transformers say about small files.

Needs torch, transformers, safetensors, gguf. Deterministic: everything comes from one seed.
"""
import hashlib
import json
import pathlib
import tempfile

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Q
from safetensors.torch import save, save_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens/checkpoint"
rng = np.random.default_rng(7)


def mixed_safetensors():
    """Every element type that hone can write; the test writes the same tensors and compares bytes."""
    values = [0, 1, -2.5, 0.1, 1e-3, 65504, -0.0, 3.14159]
    tensors = {f"float.{n}": torch.tensor(values, dtype=t).reshape(2, 4) for n, t in
               {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}.items()}
    ints = [0, 1, 2, 100, 127]
    tensors |= {f"int.{n}": torch.tensor(ints, dtype=t) for n, t in
                {"i64": torch.int64, "i32": torch.int32, "i8": torch.int8, "u8": torch.uint8}.items()}
    tensors |= {"truth": torch.tensor([True, False, True]), "empty": torch.zeros(0, 3), "scalar": torch.tensor(7.0),
                'odd "name"\n': torch.tensor([1.0])}
    (OUT / "mixed.safetensors").write_bytes(save(tensors, {"format": "pt"}))
    save_file({"i16": torch.tensor([-5, 300], dtype=torch.int16), "u16": torch.tensor([7, 65535], dtype=torch.uint16),
               "u32": torch.tensor([4294967295], dtype=torch.uint32), "f8": torch.zeros(2, dtype=torch.float8_e4m3fn)},
              OUT / "uncommon.safetensors")
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    finite = np.where(np.isnan(halves), 0, halves).astype(np.float32)
    (OUT / "half.sha256").write_text(hashlib.sha256(finite.tobytes()).hexdigest() + "\n")


def blocks(kind, rows, cols):
    """Random blocks of a format: random bits, but scales that are finite halves."""
    block, size = gguf.GGML_QUANT_SIZES[kind]
    data = rng.integers(0, 256, (rows * cols // block, size), dtype=np.uint8)
    at = {Q.Q4_0: [0], Q.Q4_1: [0, 2], Q.Q5_0: [0], Q.Q5_1: [0, 2], Q.Q8_0: [0], Q.Q2_K: [80, 82], Q.Q3_K: [108],
          Q.Q4_K: [0, 2], Q.Q5_K: [0, 2], Q.Q6_K: [208]}[kind]
    for a in at:
        data[:, a:a + 2] = rng.normal(0, 0.1, (len(data), 1)).astype(np.float16).view(np.uint8)
    data[0, at[0]:at[0] + 2] = np.array([1e-7], np.float16).view(np.uint8)  # a subnormal scale
    return data.reshape(rows, cols // block * size)


def stored(kind, rows, cols):
    if kind in (Q.F32, Q.F16, Q.BF16):
        x = rng.normal(0, 1, (rows, cols)).astype(np.float32)
        return x if kind == Q.F32 else x.astype(np.float16) if kind == Q.F16 else gguf.quants.quantize(x, Q.BF16)
    return blocks(kind, rows, cols)


def quants():
    w = gguf.GGUFWriter(OUT / "quants.gguf", "none")
    expected = {}
    for kind in (Q.F32, Q.F16, Q.BF16, Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q5_1, Q.Q8_0, Q.Q2_K, Q.Q3_K, Q.Q4_K, Q.Q5_K, Q.Q6_K):
        data = stored(kind, 2, 256)
        w.add_tensor(kind.name, data, raw_dtype=kind)
        expected[kind.name] = sha(gguf.quants.dequantize(data, kind))
    finish(w)
    (OUT / "quants.json").write_text(json.dumps(expected, indent=1) + "\n")


def sha(array):
    return hashlib.sha256(np.ascontiguousarray(array, dtype=np.float32).tobytes()).hexdigest()


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def model(name, arch, kinds, fields, tensors, config):
    """A model as llama.cpp would write it, and what Transformers makes of it."""
    w = gguf.GGUFWriter(OUT / f"{name}.gguf", arch)
    w.add_name(name)
    for key, value in fields.items():
        key = f"{arch}.{key}"
        w.add_float32(key, value) if isinstance(value, float) else w.add_uint32(key, value)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("smollm")
    w.add_token_list([chr(97 + i) for i in range(26)] + ["ab", "bc", "<s>", "</s>", "\u0120", "\u010a"])
    w.add_token_types([1] * 32)
    w.add_token_merges(["a b", "b c"])
    w.add_bos_token_id(28)
    w.add_eos_token_id(29)
    w.add_add_bos_token(False)
    for i, (t, shape) in enumerate(tensors.items()):
        kind = Q.F32 if len(shape) == 1 else kinds[i % len(kinds)]
        data = stored(kind, shape[0] if len(shape) == 2 else 1, shape[-1])
        w.add_tensor(t, data if len(shape) == 2 else data.reshape(-1), raw_dtype=kind)
    finish(w)
    path = str(OUT / f"{name}.gguf")
    params = load_gguf_checkpoint(path)
    empty = AutoModelForCausalLM.from_config(AutoConfig.for_model(**params["config"], **config))
    loaded = load_gguf_checkpoint(path, return_tensors=True, model_to_load=empty)
    golden = {"config": params["config"],
              "tensors": {n: {"shape": list(t.shape), "sha256": sha(t.numpy())} for n, t in sorted(loaded["tensors"].items())}}
    assert len(golden["tensors"]) == len(tensors), (len(golden["tensors"]), len(tensors))
    (OUT / f"{name}.json").write_text(json.dumps(golden, indent=1) + "\n")


def models():
    d, f, v, kv = 32, 64, 32, 16
    layer = {"attn_norm.weight": [d], "attn_q.weight": [d, d], "attn_k.weight": [kv, d], "attn_v.weight": [kv, d],
             "attn_output.weight": [d, d], "ffn_norm.weight": [d], "ffn_gate.weight": [f, d], "ffn_up.weight": [f, d],
             "ffn_down.weight": [d, f]}
    fields = {"context_length": 128, "block_count": 2, "feed_forward_length": f, "embedding_length": d,
              "attention.head_count": 4, "attention.head_count_kv": 2, "attention.layer_norm_rms_epsilon": 1e-5,
              "rope.freq_base": 100000.0}
    once = {"token_embd.weight": [v, d], "output_norm.weight": [d]}
    layers = lambda count, layer: {f"blk.{i}.{n}": s for i in range(count) for n, s in layer.items()}
    model("llama", "llama", [Q.Q8_0, Q.Q4_1, Q.Q4_0], fields | {"rope.dimension_count": 8, "vocab_size": v}, once | layers(2, layer), {})
    bias = {"attn_q.bias": [d], "attn_k.bias": [kv], "attn_v.bias": [kv]}
    model("qwen2", "qwen2", [Q.Q8_0, Q.BF16], fields | {"block_count": 1}, once | {"output.weight": [v, d]} | layers(1, layer | bias), {})
    gpt2 = {"attn_norm.weight": [d], "attn_norm.bias": [d], "attn_qkv.weight": [3 * d, d], "attn_qkv.bias": [3 * d],
            "attn_output.weight": [d, d], "attn_output.bias": [d], "ffn_norm.weight": [d], "ffn_norm.bias": [d],
            "ffn_up.weight": [4 * d, d], "ffn_up.bias": [4 * d], "ffn_down.weight": [d, 4 * d], "ffn_down.bias": [d]}
    model("gpt2", "gpt2", [Q.F16, Q.Q8_0],
          {"context_length": 16, "block_count": 1, "embedding_length": d, "feed_forward_length": 4 * d,
           "attention.head_count": 4, "attention.layer_norm_epsilon": 1e-5},
          {"token_embd.weight": [v, d], "position_embd.weight": [16, d], "output_norm.weight": [d], "output_norm.bias": [d]}
          | layers(1, gpt2), {})


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    mixed_safetensors()
    quants()
    models()
