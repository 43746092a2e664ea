#!/usr/bin/env python3
"""Requests per second of hone serve beside a server of Transformers and FastAPI and one of CTranslate2, with 1 to 32
clients. The three answer in turn, round by round, on the same two processors; the first round is not counted.

    bench/serving.py --model gpt2|t5 [--clients 1 8 32] [--seconds 15] [--rounds 3] [--dtype float32|int8]

The Python needs torch, transformers, ctranslate2, fastapi, uvicorn. Weights are random: every text has --new_tokens new
tokens, whatever the model says. HONE_DATA has the tokenizers and configs (default ../shared/data).
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import queue
import random
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = pathlib.Path(os.environ.get("HONE_BENCH_FILES", ROOT / "build" / "bench"))
DATA = pathlib.Path(os.environ.get("HONE_DATA", ROOT / ".." / "shared" / "data"))
WORDS = "the of and to in a is that for it as was with be by on not he his but at are this have from or had an".split()


def make_weights(name):
    """The folder of a model with random weights and a real tokenizer."""
    folder = FILES / f"serving-{name}"
    if not (folder / "model.safetensors").exists():
        import transformers
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer, config = {"gpt2": ("tok-gpt2", "gpt2.json"), "t5": ("tok-t5", "t5-small.json")}[name]
        shutil.copy(DATA / "configs" / config, folder / "config.json")
        for f in (DATA / tokenizer).iterdir():
            if f.name not in ("SOURCE.txt",):
                shutil.copy(f, folder / f.name)
        config = transformers.AutoConfig.from_pretrained(folder)
        kind = transformers.AutoModelForSeq2SeqLM if name == "t5" else transformers.AutoModelForCausalLM
        transformers.set_seed(1)
        kind.from_config(config).save_pretrained(folder)
    return folder


def make_model(name):
    """The model's folder, and that of CTranslate2's form of it."""
    folder, forms = make_weights(name), {}
    for dtype in ("float32", "int8"):
        forms[dtype] = FILES / f"serving-{name}-ct2-{dtype}"
        if not forms[dtype].exists():
            subprocess.run([str(pathlib.Path(sys.executable).parent / "ct2-transformers-converter"), "--model", str(folder),
                            "--output_dir", str(forms[dtype]), "--quantization", dtype], check=True, stdout=subprocess.DEVNULL)
    return folder, forms


def peer(which, name, folder, form, dtype, port, new_tokens):
    """A server of the other side, as people write it: FastAPI, and a queue that makes batches for CTranslate2."""
    import fastapi
    import transformers
    import uvicorn
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    app = fastapi.FastAPI()
    lengths = dict(max_new_tokens=new_tokens, min_new_tokens=new_tokens)
    if which == "transformers":
        import torch
        torch.set_num_threads(2)
        kind = transformers.AutoModelForSeq2SeqLM if name == "t5" else transformers.AutoModelForCausalLM
        model = kind.from_pretrained(folder)
        lock = threading.Lock()

        def generate(text):
            with lock, torch.inference_mode():
                ids = tokenizer(text, return_tensors="pt")
                out = model.generate(**ids, **lengths, do_sample=False, pad_token_id=0)[0]
                return tokenizer.decode(out[0 if name == "t5" else ids["input_ids"].shape[1]:], skip_special_tokens=True)
    else:
        import ctranslate2
        options = dict(device="cpu", compute_type=dtype, inter_threads=1, intra_threads=2)
        t5 = name == "t5"
        model = (ctranslate2.Translator if t5 else ctranslate2.Generator)(str(form), **options)
        waiting = queue.Queue()

        def work():
            while True:
                batch = [waiting.get()]
                while len(batch) < 32 and not waiting.empty():
                    batch.append(waiting.get())
                tokens = [tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"]) for text, _ in batch]
                if t5:
                    results = model.translate_batch(tokens, beam_size=1, max_decoding_length=new_tokens, min_decoding_length=new_tokens)
                    ids = [tokenizer.convert_tokens_to_ids(r.hypotheses[0]) for r in results]
                else:
                    results = model.generate_batch(tokens, beam_size=1, max_length=new_tokens, min_length=new_tokens,
                                                   sampling_topk=1, include_prompt_in_result=False)
                    ids = [r.sequences_ids[0] for r in results]
                for (_, future), one in zip(batch, ids):
                    future.set_result(tokenizer.decode(one, skip_special_tokens=True))

        threading.Thread(target=work, daemon=True).start()

        def generate(text):
            future = concurrent.futures.Future()
            waiting.put((text, future))
            return future.result()

    @app.post("/predict")
    def predict(body: dict):
        return {"predictions": [generate(text) for text in body["instances"]]}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


def start(command, port, path):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(1200):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 503:  # it loads
                return process
        except OSError:
            if process.poll() is not None:
                break
        time.sleep(0.1)
    sys.exit(f"{command[0]} did not start")


def load(port, path, clients, seconds, parameters):
    """Requests per second, and the latencies."""
    latencies, wrong, end = [], [], time.monotonic() + seconds

    def client(seed):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        r = random.Random(seed)
        while time.monotonic() < end:
            text = " ".join(r.choice(WORDS) for _ in range(r.randint(16, 48)))
            begin = time.monotonic()
            connection.request("POST", path, json.dumps(dict(instances=[text], **parameters)), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                wrong.append(body)
                return
            latencies.append(time.monotonic() - begin)

    begin = time.monotonic()
    threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if wrong:
        sys.exit(f"a request failed: {wrong[0][:300]}")
    return len(latencies) / (time.monotonic() - begin), sorted(latencies)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=str(ROOT / "build" / "hone"))
    parser.add_argument("--model", choices=["gpt2", "t5"], default="gpt2")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--new_tokens", type=int, default=32)
    parser.add_argument("--dtype", choices=["float32", "int8"], default="float32")
    parser.add_argument("--peer")
    parser.add_argument("--port", type=int, default=8471)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    os.environ["OMP_NUM_THREADS"] = "2"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    folder, forms = make_model(options.model)
    if options.peer:
        return peer(options.peer, options.model, folder, forms[options.dtype], options.dtype, options.port, options.new_tokens)
    settings = {"parameters": {"max_new_tokens": options.new_tokens, "min_new_tokens": options.new_tokens}}
    more = ["--load_in_8bit"] if options.dtype == "int8" else []
    sides = {"hone": (["%s" % options.hone, "serve", f"m={folder}", "--port", str(options.port), "--max_length", "128", *more],
                      options.port, "/v1/models/m:predict", "/readyz", settings)}
    for i, which in enumerate(("transformers", "ctranslate2")):
        if which == "transformers" and options.dtype != "float32":
            continue
        port = options.port + 1 + i
        command = [sys.executable, __file__, "--peer", which, "--model", options.model, "--dtype", options.dtype, "--port", str(port),
                   "--new_tokens", str(options.new_tokens)]
        sides[which] = (command, port, "/predict", "/docs", {})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    processes = [start(command, port, ready) for command, port, _, ready, _ in sides.values()]
    try:
        for _, port, path, _, parameters in sides.values():
            load(port, path, 2, 3, parameters)
        for clients in options.clients:
            rates, times = {k: [] for k in sides}, {k: [] for k in sides}
            for _ in range(options.rounds):
                for side, (_, port, path, _, parameters) in sides.items():
                    rate, latencies = load(port, path, clients, options.seconds, parameters)
                    rates[side].append(rate)
                    times[side] += latencies
            for side in sides:
                own = sorted(times[side])
                ratio = statistics.median(a / b for a, b in zip(rates["hone"], rates[side]))
                print(f"{options.model} {options.dtype} {clients:3} clients  {side:12} {statistics.median(rates[side]):7.2f} requests/s"
                      f"  p50 {own[len(own) // 2]:6.2f} s  p99 {own[int(len(own) * 0.99)]:6.2f} s  hone is {ratio:5.2f} times as fast",
                      flush=True)
    finally:
        for p in processes:
            p.kill()
            p.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
