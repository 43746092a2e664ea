#!/usr/bin/env python3
"""Hostile model folders: weights that are not numbers, impossible shapes, headers that lie, JSON
without a bottom, absurd counts. Each ends at once with one error: status 1, its code, and the place.

    tests/faults/hostile.py --hone build/hone [--show]
"""
import argparse
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = os.path.join(SOURCE, "tests", "goldens", "models")
HUGE = 1 << 62


class Model:
    """A copy of a golden model to spoil."""

    def __init__(self, folder, name):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(os.path.join(MODELS, name), folder)

    def config(self, **keys):
        path = os.path.join(self.folder, "config.json")
        with open(path) as f:
            config = json.load(f)
        config.update(keys)
        with open(path, "w") as f:
            json.dump(config, f)

    def write(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as f:
            f.write(data)

    def weights(self):
        with open(os.path.join(self.folder, "model.safetensors"), "rb") as f:
            data = f.read()
        length = struct.unpack("<Q", data[:8])[0]
        return json.loads(data[8:8 + length]), bytearray(data[8 + length:])

    def save_weights(self, header, body, length=None):
        text = json.dumps(header).encode() if not isinstance(header, bytes) else header
        self.write("model.safetensors", struct.pack("<Q", len(text) if length is None else length) + text + bytes(body))

    def set_value(self, name, index, bits):
        header, body = self.weights()
        assert header[name]["dtype"] == "F32"
        at = header[name]["data_offsets"][0] + 4 * index
        body[at:at + 4] = struct.pack("<I", bits)
        self.save_weights(header, body)

    def change(self, name, **facts):
        header, body = self.weights()
        header[name].update(facts)
        self.save_weights(header, body)


def configs():
    """(name, model, keys of config.json)"""
    for key in ("n_embd", "n_layer", "n_head", "n_positions", "vocab_size"):
        for value in (0, -1, HUGE, 1 << 40, 2.5, "many", None, [3], 1e400):
            if value is None and key != "n_embd":
                continue
            yield f"gpt2 {key}={value}", "gpt2_tiny", {key: value}
    for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "intermediate_size", "head_dim",
                "vocab_size", "max_position_embeddings"):
        for value in (0, -4, HUGE, 1 << 40, "x"):
            yield f"llama {key}={value}", "llama_tied_tiny", {key: value}
    yield "heads do not divide", "gpt2_tiny", {"n_head": 3, "n_embd": 64}
    yield "kv heads do not divide", "llama_tied_tiny", {"num_key_value_heads": 3}
    yield "odd head_dim", "llama_tied_tiny", {"head_dim": 7}
    yield "n_inner huge", "gpt2_tiny", {"n_inner": HUGE}
    yield "n_inner negative", "gpt2_tiny", {"n_inner": -8}
    yield "negative dropout", "gpt2_tiny", {"resid_pdrop": -0.5}
    yield "dropout above 1", "gpt2_tiny", {"attn_pdrop": 1.5}
    yield "epsilon a word", "gpt2_tiny", {"layer_norm_epsilon": "tiny"}
    yield "epsilon negative", "llama_tied_tiny", {"rms_norm_eps": -1.0}
    yield "rope base 0", "llama_tied_tiny", {"rope_theta": 0}
    yield "rope base negative", "llama_tied_tiny", {"rope_theta": -1.0}
    yield "rope base a word", "llama_tied_tiny", {"rope_theta": "big"}
    yield "rope parameters a list", "llama_tied_tiny", {"rope_parameters": []}
    yield "rope parameters: base a word", "llama_tied_tiny", {"rope_parameters": {"rope_type": "default", "rope_theta": "big"}}
    yield "rope parameters: base 0", "llama_tied_tiny", {"rope_parameters": {"rope_type": "default", "rope_theta": 0}}
    yield "rope scaling unknown", "llama_tied_tiny", {"rope_scaling": {"rope_type": "spiral"}, "rope_parameters": None}
    yield "rope type a number", "llama_tied_tiny", {"rope_scaling": {"type": 3, "factor": 2}, "rope_parameters": None}
    yield "rope scaling by 0", "llama3_rope_tiny", {"rope_scaling": {"rope_type": "llama3", "factor": 0, "low_freq_factor": 1, "high_freq_factor": 1, "original_max_position_embeddings": 0}}
    yield "window layers a word", "qwen2_tiny", {"max_window_layers": "all", "use_sliding_window": True}
    yield "unknown activation", "gpt2_tiny", {"activation_function": "sigmoidish"}
    yield "unknown family", "gpt2_tiny", {"model_type": "gpt22"}
    yield "family a number", "gpt2_tiny", {"model_type": 7}
    yield "window negative", "mistral_tiny", {"sliding_window": -3}
    yield "window huge", "mistral_tiny", {"sliding_window": HUGE}


def weights(model):
    """(name, what is done to the model)"""
    m = lambda: Model(model, "gpt2_tiny")
    name, second = "transformer.h.0.attn.c_attn.weight", "transformer.wpe.weight"
    header, _ = m().weights()
    if name not in header:
        name, second = name.removeprefix("transformer."), second.removeprefix("transformer.")
    yield "NaN in a weight", lambda: m().set_value(name, 5, 0x7FC00000)
    yield "infinity in a weight", lambda: m().set_value(name, 5, 0x7F800000)
    yield "NaN in the embedding", lambda: m().set_value(second, 0, 0xFFC00001)
    yield "overlapping tensors", lambda: m().change(name, data_offsets=header[second]["data_offsets"], shape=header[second]["shape"])
    begin, end = header[name]["data_offsets"]
    yield "end before begin", lambda: m().change(name, data_offsets=[end, begin])
    yield "end beyond the file", lambda: m().change(name, data_offsets=[begin, begin + (1 << 40)], shape=[1 << 38])
    yield "offsets of 2^63", lambda: m().change(name, data_offsets=[1 << 63, (1 << 63) + 4])
    yield "negative offset", lambda: m().change(name, data_offsets=[-4, 0])
    yield "three offsets", lambda: m().change(name, data_offsets=[0, 4, 8])
    yield "shape of 2^62 squared", lambda: m().change(name, shape=[HUGE, HUGE])
    yield "shape whose product wraps", lambda: m().change(name, shape=[1 << 32, 1 << 32, 1 << 32])
    yield "negative shape", lambda: m().change(name, shape=[-1, -8])
    yield "shape with a word", lambda: m().change(name, shape=["a"])
    yield "shape without end", lambda: m().change(name, shape=[1] * 5000)
    yield "unknown dtype", lambda: m().change(name, dtype="F7")
    yield "dtype a number", lambda: m().change(name, dtype=3)
    yield "another shape", lambda: m().change(name, shape=[end // 4 - begin // 4])

    def raw(header, body=b"", length=None):
        return lambda: m().save_weights(header, body, length)
    yield "header of 2^63 bytes", raw(b"{}", b"", 1 << 63)
    yield "header of 2^40 bytes", raw(b"{}", b"", 1 << 40)
    yield "header beyond the file", raw(b"{}", b"", 100)
    yield "header of nothing", raw(b"", b"")
    yield "header not JSON", raw(b"\x00\xff\x80rubbish")
    yield "header a list", raw(b"[]")
    yield "a tensor that is a list", raw(b'{"a":[]}')
    yield "header without a bottom", raw(b'{"a":' * 100000)
    yield "header of brackets", raw(b"[" * 1000000)
    yield "the same name twice", raw(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', b"\0" * 4)
    yield "holes between tensors", raw(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}', b"\0" * 8)
    yield "bytes behind the last", raw(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', b"\0" * 8)
    yield "an empty file", lambda: m().write("model.safetensors", b"")
    yield "seven bytes", lambda: m().write("model.safetensors", b"1234567")
    yield "config without a bottom", lambda: m().write("config.json", b'{"a":' * 200000)
    yield "config of brackets", lambda: m().write("config.json", b"[" * 1000000)
    yield "config a list", lambda: m().write("config.json", b"[]")
    yield "config empty", lambda: m().write("config.json", b"")
    yield "config not UTF-8", lambda: m().write("config.json", b'{"model_type": "gpt2\xff"}')

    def index(text):
        def do():
            model = m()
            os.remove(os.path.join(model.folder, "model.safetensors"))
            model.write("model.safetensors.index.json", text)
        return do
    yield "index to a missing shard", index(b'{"weight_map": {"wte.weight": "model-9.safetensors"}}')
    yield "index out of the folder", index(b'{"weight_map": {"wte.weight": "../../etc/passwd"}}')
    yield "index a list", index(b"[]")
    yield "index of numbers", index(b'{"weight_map": {"wte.weight": 3}}')


def gguf(version=3, tensors=0, pairs=0, rest=b"", magic=b"GGUF"):
    return magic + struct.pack("<IQQ", version, tensors, pairs) + rest


def text(s):
    return struct.pack("<Q", len(s)) + s


def ggufs():
    """(name, bytes of the file)"""
    yield "gguf: 2^62 tensors", gguf(tensors=HUGE)
    yield "gguf: 2^62 pairs", gguf(pairs=HUGE)
    yield "gguf: 2^32 tensors", gguf(tensors=1 << 32, rest=b"\0" * 100)
    yield "gguf: a key of 2^62 bytes", gguf(pairs=1, rest=struct.pack("<Q", HUGE))
    yield "gguf: an array of 2^62", gguf(pairs=1, rest=text(b"a") + struct.pack("<IIQ", 9, 4, HUGE))
    yield "gguf: an array of 2^62 strings", gguf(pairs=1, rest=text(b"a") + struct.pack("<IIQ", 9, 8, HUGE))
    yield "gguf: arrays of arrays", gguf(pairs=1, rest=text(b"a") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 100000)
    yield "gguf: unknown type", gguf(pairs=1, rest=text(b"a") + struct.pack("<I", 99))
    yield "gguf: 2^31 dimensions", gguf(tensors=1, rest=text(b"a") + struct.pack("<I", 1 << 31))
    yield "gguf: dimensions that wrap", gguf(tensors=1, rest=text(b"a") + struct.pack("<IQQQQIQ", 4, 1 << 32, 1 << 32, 1 << 32, 4, 0, 0))
    yield "gguf: alignment 0", gguf(tensors=0, pairs=1, rest=text(b"general.alignment") + struct.pack("<II", 4, 0))
    yield "gguf: offset beyond the file", gguf(tensors=1, rest=text(b"a") + struct.pack("<IQIQ", 1, 4, 0, HUGE))
    yield "gguf: version 99", gguf(version=99)
    yield "gguf: empty", b""
    yield "gguf: magic alone", b"GGUF"
    yield "gguf: big endian", b"GGUF" + struct.pack(">IQQ", 3, 1, 1)


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # an absurd count must not be believed
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--show", action="store_true", help="print each error")
    options = parser.parse_args()
    hone, folder = os.path.abspath(options.hone), tempfile.mkdtemp(prefix="hone_hostile_")
    wrong = total = 0
    try:
        with open(os.path.join(folder, "rows.jsonl"), "w") as f:
            f.writelines(json.dumps({"input_ids": list(range(8))}) + "\n" for _ in range(8))

        def attempt(name, *argv):
            nonlocal wrong, total
            total += 1
            try:
                run = subprocess.run([hone, *argv], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, preexec_fn=limits)
                status, said = run.returncode, run.stderr.decode(errors="replace")
            except subprocess.TimeoutExpired:
                status, said = "none after a minute", ""
            codes = re.findall(r"^(H\d{4})  ", said, re.M)
            good = status == 1 and len(codes) == 1
            wrong += not good
            if not good or options.show:
                lines = said.strip().splitlines()
                at = next((i for i, line in enumerate(lines) if re.match(r"H\d{4}  ", line)), -4)
                print(f"{name}: {'' if good else f'status {status}, codes {codes}'}\n" + "\n".join("    " + line[:200] for line in lines[at:][:4]), flush=True)

        model = os.path.join(folder, "model")
        train = ["train", "--task", "clm", "--do_train", "--train_file", "rows.jsonl", "--block_size", "8", "--max_steps", "1",
                 "--per_device_train_batch_size", "1", "--threads", "1", "--overwrite_output_dir", "--output_dir", "out"]
        for name, base, keys in configs():
            Model(model, base).config(**keys)
            attempt(name, *train, "--model_name_or_path", "model")
            shutil.rmtree(os.path.join(folder, "out"), ignore_errors=True)
            os.remove(os.path.join(model, "model.safetensors"))
            if keys.keys() & {"vocab_size", "n_positions", "max_position_embeddings"} and list(keys.values())[0] == 1 << 40:
                continue  # a plan may be that large
            attempt("plan, " + name, "plan", "--task", "clm", "--config_name", os.path.join("model", "config.json"), "--do_train",
                    "--block_size", "8", "--per_device_train_batch_size", "1")
        for name, spoil in weights(model):
            spoil()
            attempt(name, *train, "--model_name_or_path", "model")
            shutil.rmtree(os.path.join(folder, "out"), ignore_errors=True)
        for name, data in ggufs():
            with open(os.path.join(folder, "model.gguf"), "wb") as f:
                f.write(data)
            attempt(name, "convert", "model.gguf", "out")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{total} hostile inputs, {wrong} without one clear error")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
