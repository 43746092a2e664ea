#!/usr/bin/env python3
# nightly: --install
"""hone serve with the clients that people use: openai (also streaming), tritonclient over HTTP with JSON and
binary tensors and over gRPC with streams, curl over HTTP/2 and TLS, promtool.

    tests/faults/serve_peers.py --hone build/hone [--install]

The clients live in build/serve-peers; --install makes it. Without it the test is skipped.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from store_peers import free_port

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(ROOT, "build", "serve-peers")
PACKAGES = ["openai", "jsonschema", "tritonclient[http,grpc]"]
TINY = os.path.join(ROOT, "tests", "goldens", "tiny_text_gpt2")
EMBEDDER = os.path.join(ROOT, "tests", "goldens", "embedding", "folders", "mean_normalize")
WORD_MODEL = os.path.join(ROOT, "tests", "support", "word_model.py")
CLASSIFIER = os.path.join(ROOT, "tests", "goldens", "classification", "bert")
VIT = os.path.join(ROOT, "tests", "goldens", "image_models", "vit")
IMAGES = os.path.join(ROOT, "tests", "goldens", "image_folder")
TEXT = "ineinehi S"  # four tokens after "Hello, world", as tests/runs/generate.run has them


def serve(hone, folder, *args):
    """The process and its URL."""
    log = open(os.path.join(folder, "serve.log"), "w+")
    process = subprocess.Popen([hone, "serve", *args, "--port", "0", "--threads", "1", "--batch_size", "8",
                                *([] if "--max_length" in args else ["--max_length", "48"])], stdout=log, stderr=log, cwd=folder)
    for _ in range(600):
        log.seek(0)
        lines = [line for line in log.read().splitlines() if line.startswith("listens")]
        if lines:
            return process, lines[0].split()[1]
        if process.poll() is not None:
            break
        time.sleep(0.05)
    log.seek(0)
    sys.exit("hone serve did not start:\n" + log.read())


def stop(process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0, process.returncode


def check_openai(url):
    import openai
    client = openai.OpenAI(base_url=url + "/v1", api_key="any", max_retries=0)
    assert [m.id for m in client.models.list()] == ["tiny", "bert"]
    one = client.completions.create(model="tiny", prompt="Hello, world", max_tokens=4, temperature=0)
    assert one.choices[0].text == TEXT and one.usage.completion_tokens == 4, one
    pieces = client.completions.create(model="tiny", prompt="Hello, world", max_tokens=4, temperature=0, stream=True,
                                       stream_options={"include_usage": True})
    text, usage = "", None
    for piece in pieces:
        text += "".join(c.text for c in piece.choices)
        usage = piece.usage or usage
    assert text == TEXT and usage.total_tokens == 10, (text, usage)
    many = client.completions.create(model="tiny", prompt=["Hello, world"] * 3, max_tokens=4, n=2, temperature=0.5, seed=7)
    assert len(many.choices) == 6
    for wrong, kind in ((dict(model="none", prompt="a"), openai.NotFoundError),
                        (dict(model="tiny", prompt="a", logprobs=30), openai.BadRequestError)):
        try:
            client.completions.create(**wrong)
            sys.exit(f"{wrong} was not refused")
        except kind:
            pass
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        ask = lambda i: client.completions.create(model="tiny", prompt="Hello, world", max_tokens=4, temperature=0).choices[0].text
        assert set(pool.map(ask, range(64))) == {TEXT}


def random_schema(random, depth=0):
    """A schema of small documents, in the words of pydantic and OpenAI's guide."""
    kind = random.randrange(8 if depth < 2 else 5)
    if kind == 0:
        return {"type": "string", "maxLength": random.randrange(1, 4)}
    if kind == 1:
        return {"type": "integer", "minimum": random.randrange(-50, 0), "maximum": random.randrange(0, 900)}
    if kind == 2:
        return {"enum": random.sample(["red", "re", "blue", 1, 12, None, True], 3)}
    if kind == 3:
        return {"anyOf": [{"type": "null"}, {"type": "boolean"}]}
    if kind == 4:
        return {"type": "string", "pattern": random.choice(["^[a-c]{2}$", "^(x|yz)-[0-9]$", "^\\d$"])}
    if kind == 5:
        return {"type": "array", "items": random_schema(random, depth + 1), "maxItems": 2}
    if kind == 6:
        return {"$ref": "#/$defs/tree"}
    names = random.sample(["a", "b", "name", "k\u00e9y"], random.randrange(1, 3))
    return {"type": "object", "properties": {n: random_schema(random, depth + 1) for n in names},
            "required": names[:random.randrange(len(names) + 1)], "additionalProperties": False}


def check_openai_embeddings(url):
    """The client asks for base64 unless told otherwise. Ids are those of the golden, so the embeddings are too."""
    import openai
    client = openai.OpenAI(base_url=url + "/v1", api_key="any", max_retries=0)
    with open(os.path.join(EMBEDDER, "embeddings.json"), encoding="utf-8") as f:
        golden = json.load(f)
    for form in ({}, {"encoding_format": "float"}):
        found = client.embeddings.create(model="words", input=golden["ids"], **form)
        assert [d.index for d in found.data] == list(range(len(golden["ids"])))
        for one, want in zip(found.data, golden["embeddings"]):
            assert max(abs(a - b) for a, b in zip(one.embedding, want)) < 1e-5, (one.embedding, want)
    cut = client.embeddings.create(model="words", input="w1 w2", dimensions=4).data[0].embedding
    assert len(cut) == 4 and abs(sum(x * x for x in cut) - 1) < 1e-5, cut


def check_openai_forms(url):
    """200 random schemas: every answer that ends is valid; and log probabilities, penalties, responses."""
    import random

    import jsonschema
    import openai
    client = openai.OpenAI(base_url=url + "/v1", api_key="any", max_retries=0)
    tree = {"type": "object", "properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/tree"}]}},
            "required": ["next"], "additionalProperties": False}
    messages = [{"role": "user", "content": "A"}]

    def one(seed):
        schema = {"type": "object", "properties": {"v": random_schema(random.Random(seed))}, "required": ["v"],
                  "additionalProperties": False, "$defs": {"tree": tree}}
        form = {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": schema}}
        choice = client.chat.completions.create(model="chat", messages=messages, seed=seed, max_tokens=120,
                                                response_format=form).choices[0]
        if choice.finish_reason == "length":
            return 0
        jsonschema.validate(json.loads(choice.message.content), schema)
        return 1

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        whole = sum(pool.map(one, range(200)))
    assert whole > 150, whole
    chat = client.chat.completions.create(model="chat", messages=messages, max_tokens=4, temperature=0, logprobs=True,
                                          top_logprobs=3)
    tokens = chat.choices[0].logprobs.content
    assert "".join(t.token for t in tokens) == chat.choices[0].message.content and len(tokens[0].top_logprobs) == 3
    echo = client.completions.create(model="chat", prompt="Hello, world", echo=True, logprobs=1, max_tokens=4, temperature=0)
    assert echo.choices[0].text == "Hello, world" + TEXT and echo.choices[0].logprobs.token_logprobs[0] is None
    biased = client.completions.create(model="chat", prompt="Hello, world", max_tokens=3, temperature=0, logit_bias={"7": 100})
    assert biased.choices[0].text == "(((", biased
    answer = client.responses.create(model="chat", input="Hello, world", instructions="i", max_output_tokens=4, temperature=0)
    assert answer.output_text == TEXT and answer.status == "incomplete", answer
    with client.responses.stream(model="chat", input="Hello, world", max_output_tokens=4, temperature=0) as stream:
        text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
    assert text == TEXT
    try:
        client.responses.create(model="chat", input="a", tools=[{"type": "web_search"}])
        sys.exit("tools were not refused")
    except openai.BadRequestError as e:
        assert e.param == "tools", e


def check_triton_http(url):
    import numpy
    from tritonclient import http
    client = http.InferenceServerClient(url.removeprefix("http://"))
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("tiny")
    assert client.get_server_metadata()["name"] == "hone"
    assert client.get_model_metadata("bert")["outputs"][1]["datatype"] == "FP32"
    assert client.get_model_config("tiny")["max_batch_size"] == 8
    for binary in (False, True):
        text = http.InferInput("text_input", [2], "BYTES")
        text.set_data_from_numpy(numpy.array([b"Hello, world", b"the cat sat"], dtype=object), binary_data=binary)
        wanted = [http.InferRequestedOutput("text_output", binary_data=binary)]
        result = client.infer("tiny", [text], outputs=wanted, parameters={"max_new_tokens": 4})
        assert [t.decode() if isinstance(t, bytes) else t for t in result.as_numpy("text_output")] == [TEXT, "selfselfselfself"]
        labels = client.infer("bert", [text])
        assert labels.as_numpy("score").shape == (2,) and labels.as_numpy("label").shape == (2,)
    try:
        client.infer("tiny", [text], outputs=[http.InferRequestedOutput("other")])
        sys.exit("an output that is not there was not refused")
    except http.InferenceServerException as e:
        assert "other" in str(e)
    before = client.get_inference_statistics("bert")["model_stats"][0]
    client.infer("bert", [text])
    after = client.get_inference_statistics("bert", "1")["model_stats"][0]
    assert after["inference_count"] == before["inference_count"] + 2, (before, after)
    for part, texts in (("success", 1), ("queue", 2), ("compute_input", 2), ("compute_infer", 2), ("compute_output", 2), ("cache_hit", 0)):
        counts = [s["inference_stats"][part]["count"] for s in (before, after)]
        assert counts[1] == counts[0] + texts, (part, counts)
    assert after["execution_count"] == sum(b["compute_infer"]["count"] for b in after["batch_stats"]), after
    assert len(client.get_inference_statistics()["model_stats"]) == 2


def check_triton_grpc(port):
    import queue

    import numpy
    from tritonclient import grpc
    client = grpc.InferenceServerClient(f"127.0.0.1:{port}")
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("tiny")
    assert not client.is_model_ready("none")
    assert client.get_server_metadata().name == "hone"
    assert client.get_model_metadata("bert").outputs[1].datatype == "FP32"
    config = client.get_model_config("tiny").config
    assert config.max_batch_size == 8 and config.backend == "hone" and config.input[0].data_type == 13, config
    assert [m.name for m in client.get_model_repository_index().models] == ["tiny", "bert"]
    text = grpc.InferInput("text_input", [2], "BYTES")
    text.set_data_from_numpy(numpy.array([b"Hello, world", b"the cat sat"], dtype=object))
    result = client.infer("tiny", [text], parameters={"max_new_tokens": 4}, request_id="r1",
                          headers={"x-request-id": "grpc-1"})
    assert list(result.as_numpy("text_output")) == [TEXT.encode(), b"selfselfselfself"] and result.get_response().id == "r1"
    assert client.infer("bert", [text], outputs=[grpc.InferRequestedOutput("score")]).as_numpy("score").shape == (2,)
    for model, wanted in (("none", "StatusCode.NOT_FOUND"), ("tiny", "StatusCode.INVALID_ARGUMENT")):
        try:
            client.infer(model, [text], parameters={"max_new_tokens": 4}, outputs=[grpc.InferRequestedOutput("other")])
            sys.exit("a wrong call was not refused")
        except grpc.InferenceServerException as e:
            assert e.status() == wanted, e
    stats = client.get_inference_statistics("tiny").model_stats[0]
    assert stats.name == "tiny" and stats.inference_count >= 2 and stats.inference_stats.success.ns > 0, stats
    assert sum(b.compute_infer.count for b in stats.batch_stats) == stats.execution_count > 0, stats
    assert len(client.get_inference_statistics().model_stats) == 2
    answers = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    for _ in range(5):
        client.async_stream_infer("tiny", [text], parameters={"max_new_tokens": 4})
    for _ in range(5):
        result, error = answers.get(timeout=30)
        assert error is None and result.as_numpy("text_output")[0] == TEXT.encode(), error
    client.stop_stream()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        ask = lambda i: client.infer("tiny", [text], parameters={"max_new_tokens": 4}).as_numpy("text_output")[0]
        assert set(pool.map(ask, range(64))) == {TEXT.encode()}


def check_triton_images(url, port):
    """Files of images as BYTES, over HTTP and gRPC: the same labels and scores, and bad bytes are refused."""
    import numpy
    from tritonclient import grpc, http
    names = [os.path.join(IMAGES, "validation", name, file) for name, file in (("cat", "0.jpg"), ("dog", "1.png"), ("owl", "2.JPEG"))]
    files = [open(name, "rb").read() for name in names]
    answers = []
    for module, place in ((http, url.removeprefix("http://")), (grpc, f"127.0.0.1:{port}")):
        if not port and module is grpc:
            continue
        client = module.InferenceServerClient(place)
        image = module.InferInput("image", [3], "BYTES")
        image.set_data_from_numpy(numpy.array(files, dtype=object))
        result = client.infer("vit", [image])
        labels, scores = result.as_numpy("label").tolist(), result.as_numpy("score").tolist()
        assert len(labels) == 3 and all(1 / 3 <= score <= 1 for score in scores), (labels, scores)
        answers.append((labels, scores))
        image.set_data_from_numpy(numpy.array([files[0], b"no image", files[2]], dtype=object))
        try:
            client.infer("vit", [image])
            sys.exit("bytes without an image were not refused")
        except module.InferenceServerException as e:
            assert "image" in str(e), e
    # Images that come together are one batch, whose sums may differ in the last bit.
    (labels, scores), *others = answers
    assert all(l == labels and all(abs(x - y) < 1e-5 for x, y in zip(s, scores)) for l, s in others), answers


def check_access(path, with_grpc):
    """Requests of every transport are lines of the access log."""
    with open(path) as f:
        lines = [json.loads(line) for line in f]
    assert all(line["peer"] == "127.0.0.1" and line["request_id"] for line in lines), lines
    assert any(line["first_seconds"] for line in lines if line["path"] == "/v1/completions"), lines
    if with_grpc:
        named = [line for line in lines if line["request_id"] == "grpc-1"]
        assert len(named) == 1 and named[0] | {"protocol": "gRPC", "path": "/v2/models/tiny/infer", "status": 200, "model": "tiny",
                                               "tokens_out": 8} == named[0], named
        assert {"/v2/health/live", "/v2/models/stats", "/v2/models/bert"} <= {line["path"] for line in lines if line["protocol"] == "gRPC"}


def check_metrics(url):
    if not shutil.which("promtool"):
        print("promtool is not here: not checked (Debian: prometheus)")
        return
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    text = opener.open(url + "/metrics").read().decode()
    judged = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert judged.returncode == 0 and not judged.stderr, judged.stderr
    assert 'hone_serve_requests_total{route="openai",code="404"}' in text, text
    for name in ("answer_seconds", "time_to_first_token_seconds", "time_per_token_seconds"):
        counts = re.findall(rf'hone_serve_{name}_count{{model="tiny.*?}} (\d+)', text)
        assert counts and int(counts[0]) > 0, (name, text)


def check_curl(hone, folder):
    """TLS, HTTP/1.1 and HTTP/2, and the same without TLS."""
    if not shutil.which("curl") or not shutil.which("openssl"):
        print("curl or openssl is not here: TLS and HTTP/2 are not checked")
        return
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"],
                   cwd=folder, check=True, capture_output=True)
    body = json.dumps({"instances": ["Hello, world"] * 20, "parameters": {"maxOutputTokens": 4}})
    for tls in (True, False):
        files = ["--tls_certificate", "cert.pem", "--tls_key", "key.pem"] if tls else []
        process, url = serve(hone, folder, "tiny=" + TINY, *files)
        for version in (("--http1.1", "1.1"), ("--http2" if tls else "--http2-prior-knowledge", "2")):
            done = subprocess.run(["curl", "-sS", "--noproxy", "*", "--cacert", "cert.pem", version[0], "-w", "\n%{http_version}",
                                   url + "/v1/models/tiny:predict", "-d", body], cwd=folder, capture_output=True, text=True)
            answer, spoken = done.stdout.rsplit("\n", 1)
            assert spoken == version[1] and json.loads(answer)["predictions"] == [TEXT] * 20, (done.stdout, done.stderr)
        if tls:  # bytes that are no TLS
            plain = subprocess.run(["curl", "-sS", "--noproxy", "*", "--max-time", "5", url.replace("https", "http") + "/healthz"],
                                   capture_output=True, text=True)
            assert plain.returncode != 0
            old = subprocess.run(["curl", "-sS", "--noproxy", "*", "--cacert", "cert.pem", "--tls-max", "1.1", url + "/healthz"],
                                 cwd=folder, capture_output=True, text=True)
            assert old.returncode == 35, old
        if not tls and shutil.which("h2load"):
            load = subprocess.run(["h2load", "-n", "200", "-c", "4", "-m", "16", url + "/readyz"], capture_output=True, text=True)
            assert "200 succeeded, 0 failed" in load.stdout, load.stdout
        stop(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(ROOT, "build", "hone"))
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    python = os.path.join(VENV, "bin", "python")
    if options.install and not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([os.path.join(VENV, "bin", "pip"), "-q", "install", *PACKAGES], check=True)
    if not os.path.exists(python):
        print("skipped: tests/faults/serve_peers.py --install makes build/serve-peers with the clients of others")
        return 77
    if sys.prefix != os.path.realpath(VENV) and sys.prefix != VENV:
        return subprocess.run([python, *sys.argv], check=False).returncode
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        os.environ.pop(name, None)
    hone = os.path.abspath(options.hone)
    folder = tempfile.mkdtemp(prefix="hone_serve_")
    try:
        module = os.path.join(os.path.dirname(os.path.realpath(hone)), "libhone_grpc.so")
        port = free_port() if os.path.exists(module) else None
        process, url = serve(hone, folder, "tiny=" + TINY, "bert=" + CLASSIFIER, "--access_log", "access.log",
                             "--access_log_format", "json", *(["--grpc_port", str(port)] if port else []))
        try:
            check_openai(url)
            check_triton_http(url)
            if port:
                check_triton_grpc(port)
            else:
                print("this build has no gRPC: not checked")
            check_metrics(url)
        finally:
            stop(process)
        check_access(os.path.join(folder, "access.log"), port)
        check_curl(hone, folder)
        chat = os.path.join(folder, "chat")
        shutil.copytree(TINY, chat)
        with open(os.path.join(chat, "chat_template.jinja"), "w") as f:
            f.write("{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}")
        process, url = serve(hone, folder, "chat=" + chat, "--max_length", "128")
        try:
            check_openai_forms(url)
        finally:
            stop(process)
        port = free_port() if port else None
        process, url = serve(hone, folder, "vit=" + VIT, *(["--grpc_port", str(port)] if port else []))
        try:
            check_triton_images(url, port)
        finally:
            stop(process)
        words = os.path.join(folder, "words")
        subprocess.run([sys.executable, WORD_MODEL, EMBEDDER, words], check=True)
        process, url = serve(hone, folder, "words=" + words)
        try:
            check_openai_embeddings(url)
        finally:
            stop(process)
    finally:
        shutil.rmtree(folder)
    print("hone serve: openai, tritonclient, curl and promtool are content")
    return 0


if __name__ == "__main__":
    sys.exit(main())
