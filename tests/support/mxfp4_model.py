"""Makes the folder TO: a tiny gpt-oss with its experts in MXFP4 and the tokenizer of the folder FROM.

    mxfp4_model.py FROM TO VOCABULARY
"""
import array
import json
import pathlib
import random
import shutil
import sys

source, to, vocabulary = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
C, F, LAYERS, HEADS, KEYS, D, E = 32, 64, 2, 4, 2, 8, 4
draw = random.Random(5)
tensors = {}


def floats(name, *shape, mean=0.0):
    count = 1
    for size in shape:
        count *= size
    values = array.array("f", (mean + 0.2 * draw.gauss(0, 1) for _ in range(count)))
    tensors[name] = ("F32", shape, values.tobytes())


def experts(name, columns, rows):
    floats(name + "_bias", E, columns)
    tensors[name + "_blocks"] = ("U8", (E, columns, rows // 32, 16), draw.randbytes(E * columns * rows // 2))
    scales = bytes(draw.randrange(121, 125) for _ in range(E * columns * rows // 32))
    tensors[name + "_scales"] = ("U8", (E, columns, rows // 32), scales)


floats("model.embed_tokens.weight", vocabulary, C)
floats("lm_head.weight", vocabulary, C)
floats("model.norm.weight", C, mean=1.0)
for layer in range(LAYERS):
    at = f"model.layers.{layer}."
    for norm in ("input_layernorm", "post_attention_layernorm"):
        floats(f"{at}{norm}.weight", C, mean=1.0)
    for name, out, size in (("q", HEADS * D, C), ("k", KEYS * D, C), ("v", KEYS * D, C), ("o", C, HEADS * D)):
        floats(f"{at}self_attn.{name}_proj.weight", out, size)
        floats(f"{at}self_attn.{name}_proj.bias", out)
    floats(f"{at}self_attn.sinks", HEADS)
    floats(f"{at}mlp.router.weight", E, C)
    floats(f"{at}mlp.router.bias", E)
    experts(f"{at}mlp.experts.gate_up_proj", 2 * F, C)
    experts(f"{at}mlp.experts.down_proj", C, F)

to.mkdir()
for file in source.glob("*token*"):
    shutil.copy(file, to)
(to / "config.json").write_text(json.dumps({
    "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "vocab_size": vocabulary, "hidden_size": C,
    "intermediate_size": F, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KEYS,
    "head_dim": D, "num_local_experts": E, "num_experts_per_tok": 2, "max_position_embeddings": 128,
    "sliding_window": 16, "tie_word_embeddings": False, "quantization_config": {"quant_method": "mxfp4"},
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}))
header, data = {}, b""
for name, (kind, shape, values) in tensors.items():
    header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
    data += values
text = json.dumps(header).encode()
(to / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
