#!/usr/bin/env python3
"""Greedy decoding and prompts of the same GGUF file: `hone generate` against llama.cpp (llama-cpp-python), in pairs.

The models: SmolLM2-135M of bench/parity_smollm2.py in Q8_0 and F16, and one of 185 M random weights whose rows are
whole blocks of 256 in Q4_K_M (llama.cpp makes that of F16). Each side has two threads. Seconds are those of generating,
loading left out: around the calls for the peer, which stays warm, and by the program's own clock for hone, which is
started anew for each sample. Rows of a batch decode together on both sides. The tokens are compared and reported:
llama.cpp rounds activations to 8 bits, hone does not, so random weights need not choose the same ones.

Run it with a Python that has llama-cpp-python and numpy.
"""
import json
import os
import re
import subprocess
import sys
import time

import common
import parity_smollm2

PROMPT = 32
WIDE = dict(hidden_size=1024, intermediate_size=2816, num_hidden_layers=12, num_attention_heads=16,
            num_key_value_heads=4, head_dim=64)


def random_folder(like, folder):
    """A Transformers folder of the sizes of WIDE with random weights, and the tokenizer of the folder `like`."""
    import numpy
    subprocess.run(["cp", "-r", str(like), str(folder)], check=True)
    config = json.loads((folder / "config.json").read_text()) | WIDE
    (folder / "config.json").write_text(json.dumps(config))
    wide, inner, key = WIDE["hidden_size"], WIDE["intermediate_size"], 64 * WIDE["num_key_value_heads"]
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], wide), "model.norm.weight": (wide,)}
    for layer in range(WIDE["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for name, shape in (("self_attn.q_proj", (wide, wide)), ("self_attn.k_proj", (key, wide)),
                            ("self_attn.v_proj", (key, wide)), ("self_attn.o_proj", (wide, wide)),
                            ("mlp.gate_proj", (inner, wide)), ("mlp.up_proj", (inner, wide)),
                            ("mlp.down_proj", (wide, inner)), ("input_layernorm", (wide,)),
                            ("post_attention_layernorm", (wide,))):
            shapes[f"{at}{name}.weight"] = shape
    random, header, place = numpy.random.default_rng(0), {}, 0
    for name, shape in shapes.items():
        size = 2 * int(numpy.prod(shape))
        header[name] = dict(dtype="F16", shape=shape, data_offsets=[place, place + size])
        place += size
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for shape in shapes.values():
            values = random.standard_normal(shape, "float32") * 0.05 if len(shape) == 2 else numpy.ones(shape)
            file.write(values.astype("float16").tobytes())


def files(hone):
    """The GGUF file of each form, made once."""
    folder = common.FILES / "decode_gguf"
    folder.mkdir(parents=True, exist_ok=True)
    convert = lambda *words: subprocess.run([hone, "convert", *map(str, words)], check=True, capture_output=True)
    made = {form: folder / f"smollm2.{form}.gguf" for form in ("q8_0", "f16")} | {"q4_k_m": folder / "wide.q4_k_m.gguf"}
    floats, wide = folder / "smollm2", folder / "wide"
    if not floats.exists():
        convert(parity_smollm2.gguf(), floats)
    for form in ("q8_0", "f16"):
        if not made[form].exists():
            convert(floats, made[form], "--outtype", form)
    if not made["q4_k_m"].exists():
        import llama_cpp
        random_folder(floats, wide)
        convert(wide, folder / "wide.f16.gguf", "--outtype", "f16")
        how = llama_cpp.llama_model_quantize_default_params()
        how.ftype, how.nthread = llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_K_M, common.THREADS
        llama_cpp.llama_model_quantize(str(folder / "wide.f16.gguf").encode(), str(made["q4_k_m"]).encode(), how)
    return made


class Llama(common.Answering):
    """llama.cpp in a process of its own, through its C interface: batches of sequences, greedy."""

    def __init__(self, path, rows):
        super().__init__(__file__, "--serve_peer", str(path), str(rows))

    def ask(self, prompts, new_tokens):
        return self.answer([prompts, new_tokens])


def serve_peer(path, rows):
    import ctypes
    import llama_cpp as ll
    import numpy
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    ll.llama_backend_init()
    quiet = ll.llama_log_callback(lambda *_: None)
    ll.llama_log_set(quiet, ctypes.c_void_p())
    model = ll.llama_model_load_from_file(path.encode(), ll.llama_model_default_params())
    how = ll.llama_context_default_params()
    how.n_ctx, how.n_batch, how.n_ubatch, how.n_seq_max = 1024 * rows, 2048, 512, rows
    how.n_threads = how.n_threads_batch = common.THREADS
    context = ll.llama_init_from_model(model, how)
    vocabulary = ll.llama_vocab_n_tokens(ll.llama_model_get_vocab(model))
    batch = ll.llama_batch_init(2048, 0, rows)

    def decode(tokens):  # (token, position, row, whether its logits are wanted)
        batch.n_tokens = len(tokens)
        for i, (token, position, row, wanted) in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, position, 1, wanted
            batch.seq_id[i][0] = row
        if ll.llama_decode(context, batch) != 0:
            raise SystemExit("llama_decode failed")
        return [int(numpy.argmax(numpy.ctypeslib.as_array(ll.llama_get_logits_ith(context, i), (vocabulary,))))
                for i, token in enumerate(tokens) if token[3]]

    for line in sys.stdin:
        prompts, new_tokens = json.loads(line)
        ll.llama_memory_clear(ll.llama_get_memory(context), True)
        start = time.perf_counter()
        next_ones = decode([(token, i, row, i == len(prompt) - 1) for row, prompt in enumerate(prompts)
                            for i, token in enumerate(prompt)])
        prompt_seconds = time.perf_counter() - start
        made = [[token] for token in next_ones]
        for step in range(new_tokens - 1):
            next_ones = decode([(token, len(prompts[row]) + step, row, True) for row, token in enumerate(next_ones)])
            for row, token in enumerate(next_ones):
                made[row].append(token)
        seconds = time.perf_counter() - start
        answers.write(json.dumps(dict(seconds=seconds, prompt_seconds=prompt_seconds, tokens=made)) + "\n")
        answers.flush()


def hone_generate(hone, path, prompts, new_tokens):
    given = common.FILES / f"gguf-prompts-{len(prompts)}.jsonl"
    given.write_text("".join(json.dumps(dict(prompt_tokens=row)) + "\n" for row in prompts))
    log = []
    output, _, peak = common.child([
        hone, "generate", "--model_name_or_path", str(path), "--prompt_file", str(given), "--max_new_tokens",
        str(new_tokens), "--eos_token_id", "-1", "--batch_size", str(len(prompts)), "--threads", str(common.THREADS),
        "--json"], log)
    said = re.search(r"prompt tokens in ([\d.]+) s, (\d+) new tokens at ([\d.]+) tokens/s", log[0])
    tokens = [json.loads(line)["tokens"] for line in output.splitlines() if line.strip()]
    return dict(seconds=int(said[2]) / float(said[3]), prompt_seconds=float(said[1]), tokens=tokens, peak=peak)


def probe(size=1024, tries=4):
    """GFLOP/s of the best of a few products of numpy: what the clock gives at this moment."""
    import numpy
    a, best = numpy.ones((size, size), "float32"), float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        a @ a
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best / 1e9


def measure(options, form, path, batch, prompt, new_tokens):
    prompts = [[(7919 * (i + 1) * (row + 3)) % 40000 + 100 for i in range(prompt)] for row in range(batch)]
    mine = lambda: hone_generate(options.hone, path, prompts, new_tokens)
    peer = Llama(path, batch)
    theirs = lambda: peer.ask(prompts, new_tokens)
    theirs()
    kept, _ = common.pairs(options.pairs, options.retakes, probe, theirs, mine)
    peer.close()
    seen = common.summary(kept)
    made = batch * (new_tokens if new_tokens > 1 else prompt)
    agreed = sum(a == b for x, y in zip(kept[0]["peer"]["tokens"], kept[0]["hone"]["tokens"]) for a, b in zip(x, y))
    row = {"file": path.name, "MB": f"{path.stat().st_size / 1e6:.0f}", "batch": batch,
           "of": "decoding" if new_tokens > 1 else "a prompt",
           "tokens/s": f"{made / seen['peer_seconds']:.1f} / {made / seen['hone_seconds']:.1f}",
           "speed": f"{seen['speedup']:.2f}x", "equal tokens": f"{agreed} of {batch * new_tokens}",
           "peak MiB": f"{max(p['hone']['peak'] for p in kept) / 2**20:.0f}"}
    return row, dict(summary=seen, pairs=[dict(peer=p["peer"]["seconds"], hone=p["hone"]["seconds"]) for p in kept])


def main():
    if sys.argv[1:2] == ["--serve_peer"]:
        return serve_peer(sys.argv[2], int(sys.argv[3]))
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--forms", nargs="*", default=["q4_k_m", "q8_0", "f16"])
    parser.add_argument("--new_tokens", type=int, default=96)
    options = parser.parse_args()
    common.limit_threads()
    rows, details = [], {}
    for form, path in files(options.hone).items():
        if form not in options.forms:
            continue
        for batch, prompt, new_tokens in ((1, PROMPT, options.new_tokens), (8, PROMPT, options.new_tokens), (1, 512, 1)):
            row, details[f"{form}, batch {batch}, prompt {prompt}"] = measure(options, form, path, batch, prompt, new_tokens)
            rows.append(row)
    common.finish("GGUF files as stored (llama.cpp / hone)", rows, details, options)


if __name__ == "__main__":
    main()
