#!/usr/bin/env python3
"""Makes tests/goldens/megatron_checkpoints again: files in the form of Megatron-LM, without Megatron-LM.

Needs torch and transformers. The weights and moments are those of tests/goldens/peer_checkpoints (after.safetensors) and of
tests/goldens/trainer_checkpoints/qwen2, so that a run continues with the losses of plain PyTorch there.

gpt2/   Megatron core's names with fused norms, two tensor-parallel ranks, weights in bf16 beside those in f32
qwen2/  the older names in nested dicts, two ranks, each with a group of heads, f32
"""
import argparse
import pathlib
import shutil

import torch
from safetensors.torch import load_file

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens"
FOLDER = GOLDENS / "megatron_checkpoints"
RANKS, STEP, PADDED = 2, 4, 48


def fuse(q, k, v, groups):
    """Queries of a group, its keys, its values, group by group."""
    return torch.cat([torch.cat([part.chunk(groups)[g] for part in (q, k, v)]) for g in range(groups)])


def of_rank(name, tensor, rank):
    """The part of a rank; gated MLPs are tuples of gate and up."""
    if isinstance(tensor, tuple):
        return torch.cat([part.chunk(RANKS)[rank] for part in tensor])
    if "qkv.layer_norm" in name or "fc1.layer_norm" in name:
        return tensor
    if any(part in name for part in ("linear_qkv.", "query_key_value.", "linear_fc1.", "dense_h_to_4h.")):
        return tensor.chunk(RANKS)[rank]
    if any(name.endswith(part) for part in ("linear_proj.weight", "dense.weight", "linear_fc2.weight", "dense_4h_to_h.weight")):
        return tensor.chunk(RANKS, dim=1)[rank]
    if "word_embeddings" in name or "output_layer" in name:
        return torch.cat([tensor, torch.ones(PADDED - len(tensor), *tensor.shape[1:])]).chunk(RANKS)[rank]
    return tensor


def gpt2(w):
    """Weights of Megatron core in the order of its modules, from those of Transformers under `w`."""
    at = "transformer.h.0."
    qkv, bias = w(at + "attn.c_attn.weight").T.chunk(3), w(at + "attn.c_attn.bias").chunk(3)
    layer = "decoder.layers.0."
    return {
        "embedding.word_embeddings.weight": w("transformer.wte.weight"),
        "embedding.position_embeddings.weight": w("transformer.wpe.weight"),
        layer + "self_attention.linear_proj.weight": w(at + "attn.c_proj.weight").T,
        layer + "self_attention.linear_proj.bias": w(at + "attn.c_proj.bias"),
        layer + "self_attention.linear_qkv.layer_norm_weight": w(at + "ln_1.weight"),
        layer + "self_attention.linear_qkv.layer_norm_bias": w(at + "ln_1.bias"),
        layer + "self_attention.linear_qkv.weight": fuse(*qkv, 2),
        layer + "self_attention.linear_qkv.bias": fuse(*bias, 2),
        layer + "mlp.linear_fc1.layer_norm_weight": w(at + "ln_2.weight"),
        layer + "mlp.linear_fc1.layer_norm_bias": w(at + "ln_2.bias"),
        layer + "mlp.linear_fc1.weight": w(at + "mlp.c_fc.weight").T,
        layer + "mlp.linear_fc1.bias": w(at + "mlp.c_fc.bias"),
        layer + "mlp.linear_fc2.weight": w(at + "mlp.c_proj.weight").T,
        layer + "mlp.linear_fc2.bias": w(at + "mlp.c_proj.bias"),
        "decoder.final_layernorm.weight": w("transformer.ln_f.weight"),
        "decoder.final_layernorm.bias": w("transformer.ln_f.bias"),
    }


def qwen2(w):
    found = {"language_model.embedding.word_embeddings.weight": w("model.embed_tokens.weight")}
    for i in range(2):
        at, layer = f"model.layers.{i}.", f"language_model.encoder.layers.{i}."
        found |= {layer + "input_norm.weight": w(at + "input_layernorm.weight")}
        for leaf in ("weight", "bias"):
            found[layer + "self_attention.query_key_value." + leaf] = fuse(
                *(w(at + f"self_attn.{k}_proj.{leaf}") for k in "qkv"), 2)
        found |= {
            layer + "self_attention.dense.weight": w(at + "self_attn.o_proj.weight"),
            layer + "post_attention_norm.weight": w(at + "post_attention_layernorm.weight"),
            layer + "mlp.dense_h_to_4h.weight": (w(at + "mlp.gate_proj.weight"), w(at + "mlp.up_proj.weight")),
            layer + "mlp.dense_4h_to_h.weight": w(at + "mlp.down_proj.weight"),
        }
    found["language_model.encoder.final_norm.weight"] = w("model.norm.weight")
    found["language_model.output_layer.weight"] = w("lm_head.weight")
    return found


def nested(flat):
    """The dicts of the older names: language_model, then its modules, then names with dots."""
    root = {}
    for name, tensor in flat.items():
        first, second, rest = name.split(".", 2)
        inner = root.setdefault(first, {}).setdefault(second, {})
        if second == "embedding":
            inner, rest = inner.setdefault(rest.split(".")[0], {}), rest.split(".")[1]
        inner[rest] = tensor
    return root


def save(kind, make, tensors, args, older, bf16):
    sides = {state: make(lambda name, state=state: tensors(state, name)) for state in ("", "exp_avg", "exp_avg_sq")}
    for rank in range(RANKS):
        parts = {state: {name: of_rank(name, t, rank).contiguous().clone() for name, t in side.items()}
                 for state, side in sides.items()}
        groups = [[n for n, t in parts[""].items() if (t.dim() == 2) == decay] for decay in (True, False)]
        states = {i: dict(exp_avg=parts["exp_avg"][n], exp_avg_sq=parts["exp_avg_sq"][n], step=torch.tensor(float(STEP)))
                  for i, n in enumerate(groups[0] + groups[1])}
        optimizer = dict(state=states, param_groups=[
            dict(params=list(range(len(groups[0]))), lr=0.01, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.05, wd_mult=1.0),
            dict(params=list(range(len(groups[0]), len(states))), lr=0.01, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
                 wd_mult=0.0)])
        model = {n: t.bfloat16() for n, t in parts[""].items()} if bf16 else parts[""]
        if bf16:
            optimizer = dict(optimizer=optimizer, fp32_from_fp16_params=[[parts[""][n] for n in g] for g in groups])
        folder = FOLDER / kind / f"iter_{STEP:07}" / f"mp_rank_{rank:02}"
        folder.mkdir(parents=True)
        torch.save(dict(args=argparse.Namespace(**args), checkpoint_version=3.0, iteration=STEP,
                        model=nested(model) if older else model, optimizer=optimizer,
                        opt_param_scheduler=dict(max_lr=0.01, num_steps=STEP * 4), num_floating_point_operations_so_far=0),
                   folder / "model_optim_rng.pt")
    (FOLDER / kind / "latest_checkpointed_iteration.txt").write_text(str(STEP))


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    args = dict(tensor_model_parallel_size=RANKS, pipeline_model_parallel_size=1, hidden_size=8, num_attention_heads=2,
                num_query_groups=1, group_query_attention=False, kv_channels=4, padded_vocab_size=PADDED, num_experts=None,
                lr=0.01, weight_decay=0.05, adam_beta1=0.9, adam_beta2=0.999, adam_eps=1e-8)
    after = load_file(GOLDENS / "peer_checkpoints/after.safetensors")
    save("gpt2", gpt2, lambda state, name: after[f"{state}.{name}" if state else name], dict(
        args, num_layers=1, position_embedding_type="learned_absolute", swiglu=False, normalization="LayerNorm"), False, True)

    folder = GOLDENS / "trainer_checkpoints/qwen2/checkpoint-4"
    weights, saved = load_file(folder / "model.safetensors"), torch.load(folder / "optimizer.pt", weights_only=True)
    numbered = {}
    names = order_of(folder)
    for group, names_of_group in zip(saved["param_groups"], names, strict=True):
        numbered |= dict(zip(names_of_group, group["params"], strict=True))
    save("qwen2", qwen2, lambda state, name: saved["state"][numbered[name]][state] if state else weights[name], dict(
        args, num_layers=2, group_query_attention=True, num_query_groups=2, position_embedding_type="rope", swiglu=True,
        normalization="RMSNorm", add_qkv_bias=True), True, False)
    for path in FOLDER.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def order_of(folder):
    """The groups of Transformers' Trainer."""
    import transformers
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    decayed = set(transformers.Trainer.get_decay_parameter_names(None, model))
    names = [name for name, _ in model.named_parameters()]
    return [[n for n in names if (n in decayed) == decay] for decay in (True, False)]


if __name__ == "__main__":
    main()
