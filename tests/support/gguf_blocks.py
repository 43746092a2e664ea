"""gguf_blocks.py FILE ARCH   a GGUF model (llama or gpt2) of random blocks of every quantised format, with a tokenizer of bytes."""
import random
import struct
import sys

path, arch = sys.argv[1], sys.argv[2]
draw = random.Random(3)
# Format: its number, elements and bytes of a block, where its halves are and their sizes.
FORMATS = {"F32": (0, 1, 4, {}), "Q4_0": (2, 32, 18, {0: 0.01}), "Q4_1": (3, 32, 20, {0: 0.01, 2: -0.075}),
           "Q5_0": (6, 32, 22, {0: 0.005}), "Q5_1": (7, 32, 24, {0: 0.005, 2: -0.08}), "Q8_0": (8, 32, 34, {0: 0.0007}),
           "Q2_K": (10, 256, 84, {80: 0.005, 82: 0.0075}), "Q3_K": (11, 256, 110, {108: 0.0015}),
           "Q4_K": (12, 256, 144, {0: 0.0004, 2: 0.003}), "Q5_K": (13, 256, 176, {0: 0.0002, 2: 0.003}),
           "Q6_K": (14, 256, 210, {208: 4e-5})}
kinds = [f for f in FORMATS if f != "F32"]
width, inner, vocabulary, layers = 256, 512, 256, 2
text = lambda s: struct.pack("<Q", len(s.encode())) + s.encode()
u32 = lambda key, x: text(key) + struct.pack("<II", 4, x)
f32 = lambda key, x: text(key) + struct.pack("<If", 6, x)
string = lambda key, x: text(key) + struct.pack("<I", 8) + text(x)


def strings(key, items):
    return text(key) + struct.pack("<IIQ", 9, 8, len(items)) + b"".join(map(text, items))


def data_of(kind, count):
    _, block, size, halves = FORMATS[kind]
    if kind == "F32":
        return struct.pack(f"<{count}f", *[1 + draw.gauss(0, 0.05) for _ in range(count)])
    made = bytearray(draw.randbytes(count // block * size))
    for at in range(0, len(made), size):
        for place, scale in halves.items():
            made[at + place:at + place + 2] = struct.pack("<e", scale * (1 + 0.2 * draw.random()))
    return bytes(made)


if arch == "llama":
    layer = {"attn_q": (width, width), "attn_k": (width // 2, width), "attn_v": (width // 2, width),
             "attn_output": (width, width), "ffn_gate": (inner, width), "ffn_up": (inner, width),
             "ffn_down": (width, inner), "attn_norm": (width,), "ffn_norm": (width,)}
    once = {"token_embd.weight": (vocabulary, width), "output.weight": (vocabulary, width), "output_norm.weight": (width,)}
    values = [u32("llama.attention.head_count_kv", 2), f32("llama.attention.layer_norm_rms_epsilon", 1e-5),
              u32("llama.rope.dimension_count", width // 4), f32("llama.rope.freq_base", 10000.0)]
    tensors = once | {f"blk.{i}.{n}.weight": s for i in range(layers) for n, s in layer.items()}
else:
    layer = {"attn_qkv": (3 * width, width), "attn_output": (width, width), "ffn_up": (inner, width),
             "ffn_down": (width, inner), "attn_norm": (width,), "ffn_norm": (width,)}
    once = {"token_embd.weight": (vocabulary, width), "position_embd.weight": (64, width),
            "output_norm.weight": (width,), "output_norm.bias": (width,)}
    values = [f32("gpt2.attention.layer_norm_epsilon", 1e-5)]
    tensors = once | {f"blk.{i}.{n}.{which}": (s if which == "weight" else s[:1])
                      for i in range(layers) for n, s in layer.items() for which in ("weight", "bias")}
visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
others = [b for b in range(256) if b not in visible]
names = [chr(b) if b in visible else chr(256 + others.index(b)) for b in range(256)]
values += [string("general.architecture", arch), u32(f"{arch}.context_length", 64), u32(f"{arch}.block_count", layers),
           u32(f"{arch}.embedding_length", width), u32(f"{arch}.feed_forward_length", inner),
           u32(f"{arch}.attention.head_count", 4), string("tokenizer.ggml.model", "gpt2"),
           string("tokenizer.ggml.pre", "gpt-2"), strings("tokenizer.ggml.tokens", names),
           strings("tokenizer.ggml.merges", []), u32("tokenizer.ggml.eos_token_id", 0)]
heads, blocks, offset = [], [], 0
for i, (name, shape) in enumerate(tensors.items()):
    kind = kinds[i % len(kinds)] if len(shape) == 2 and "position" not in name else "F32"
    count = shape[0] * (shape[1] if len(shape) == 2 else 1)
    body = data_of(kind, count)
    heads.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), FORMATS[kind][0], offset))
    body += b"\0" * (-len(body) % 32)
    blocks.append(body)
    offset += len(body)
head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(values) + b"".join(heads)
with open(path, "wb") as f:
    f.write(head + b"\0" * (-len(head) % 32) + b"".join(blocks))
