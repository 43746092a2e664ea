"""The names and tensors under which Transformers saves the parameters of a running model."""

# Of the whole model, where they differ from those in memory.
SAVED_NAMES = {"gpt_neox": {"lm_head.weight": "embed_out.weight"}}
# The matrices of an expert: gate, up, down.
EXPERT_NAMES = {"mixtral": ("w1", "w3", "w2")}


def saved_parts(model_type, name, tensor):
    """Pairs of name and tensor: Transformers 5 has the matrices of all experts as one parameter."""
    if model_type == "mixtral":
        name = name.replace(".mlp.", ".block_sparse_moe.")
    gate, up, down = EXPERT_NAMES.get(model_type, ("gate_proj", "up_proj", "down_proj"))
    whole = model_type in ("gpt_oss", "gemma4_text")  # checkpoints too have all experts as one
    if not whole and name.endswith(".experts.gate_up_proj"):
        at, kinds = name.removesuffix("gate_up_proj"), (gate, up)
    elif not whole and name.endswith(".experts.down_proj"):
        at, kinds = name.removesuffix("down_proj"), (down,)
    else:
        yield SAVED_NAMES.get(model_type, {}).get(name, name), tensor
        return
    for expert, matrices in enumerate(tensor):
        for kind, part in zip(kinds, matrices.chunk(len(kinds))):
            yield f"{at}{expert}.{kind}.weight", part
