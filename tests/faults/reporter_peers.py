#!/usr/bin/env python3
# nightly: --install
"""What hone reports, read by those whom it is reported to.

wandb: the client's own messages decode the file, and `wandb sync` uploads it to a server that notes what
comes. mlflow: a server on SQLite, read back with its client, and one that is killed in mid-run. otlp: a
collector that decodes with opentelemetry-proto. cloud_logging: a server that refuses a token and fails once.

    tests/faults/reporter_peers.py --hone build/hone [--install] [--only wandb]

The peers live in build/reporter-peers; --install makes it. Without it the test is skipped.
"""
import argparse
import base64
import gzip
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from store_peers import free_port

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(SOURCE, "build", "reporter-peers")
PACKAGES = ["wandb==0.31.*", "mlflow==3.17.*", "opentelemetry-proto==1.45.*", "tensorboard==2.21.*", "xprof==2.24.*"]
SECRET = "aSecretOfTheTest"
ONCE = {"train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss", "total_flos"}

READ_WANDB = """
import json, struct, sys, zlib
from wandb.proto import wandb_internal_pb2 as p
b = open(sys.argv[1], "rb").read()
assert b[:7] == b":W&B" + struct.pack("<HB", 0xBEE1, 0), b[:7]
at, whole, found = 7, b"", {"history": [], "stats": [], "output": "", "config": {}, "summary": {}}
while at + 7 <= len(b):
    if 32768 - at % 32768 < 7:
        at += 32768 - at % 32768
        continue
    crc, length, kind = struct.unpack("<IHB", b[at:at + 7])
    data = b[at + 7:at + 7 + length]
    at += 7 + length
    assert zlib.crc32(data, zlib.crc32(bytes([kind]))) == crc
    whole += data
    if kind not in (1, 4):
        continue
    r = p.Record()
    r.ParseFromString(whole)
    whole = b""
    items = lambda l: {(i.nested_key[0] if getattr(i, "nested_key", None) else i.key): json.loads(i.value_json) for i in l}
    which = r.WhichOneof("record_type")
    if which == "history":
        assert r.history.step.num == len(found["history"])
        found["history"].append(items(r.history.item))
    elif which == "summary":
        found["summary"].update(items(r.summary.update))
    elif which == "stats":
        found["stats"].append(items(r.stats.item))
    elif which == "output_raw":
        found["output"] += r.output_raw.line
    elif which == "run":
        found["config"] = items(r.run.config.update)
        found["run"] = [r.run.run_id, r.run.project, r.run.display_name, list(r.run.tags), r.run.notes]
    elif which == "exit":
        found["exit"] = r.exit.exit_code
    else:
        assert which in ("header", "environment", "metric"), which
json.dump(found, sys.stdout)
"""
READ_MLFLOW = """
import json, sys, mlflow
c = mlflow.MlflowClient(sys.argv[1])
e = c.get_experiment_by_name("peers")
found = []
for run in c.search_runs([e.experiment_id]):
    found.append({"id": run.info.run_id, "status": run.info.status, "name": run.info.run_name, "params": run.data.params,
                  "tags": run.data.tags, "ended": run.info.end_time,
                  "artifacts": sorted(a.path for a in c.list_artifacts(run.info.run_id)),
                  "metrics": {k: [(m.step, m.value) for m in c.get_metric_history(run.info.run_id, k)] for k in run.data.metrics}})
json.dump(found, sys.stdout)
"""
READ_OTLP = """
import json, os, sys
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
kinds = {"traces": ExportTraceServiceRequest, "metrics": ExportMetricsServiceRequest, "logs": ExportLogsServiceRequest}
found = {k: [] for k in kinds}
for name in sorted(os.listdir(sys.argv[1]), key=lambda n: int(n.split(".")[0])):
    kind = name.split(".")[1]
    m = kinds[kind]()
    m.ParseFromString(open(os.path.join(sys.argv[1], name), "rb").read())
    unknown = [f for f in m.ListFields() if f[0].number != 1]
    assert not unknown, unknown
    found[kind].append(MessageToDict(m))
json.dump(found, sys.stdout)
"""


def bin_of(name):
    return os.path.join(VENV, "bin", name)


def have_peers(install):
    """False, with a line that says so, where the peers are not there and are not to be installed."""
    if install and not os.path.exists(bin_of("tensorboard")):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([bin_of("pip"), "-q", "install", *PACKAGES], check=True)
    if not os.path.exists(bin_of("tensorboard")):
        print("skipped: tests/faults/reporter_peers.py --install makes build/reporter-peers with the readers of others")
        return False
    return True


def run_peer(program, folder, environment, *args):
    """Runs a Python program of the peers in the folder, prints what it says, and ends the test where it fails."""
    done = subprocess.run([bin_of("python"), "-c", program, *args], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(args)}: {done.stdout}{done.stderr[-4000:]}")
    print(done.stdout, end="", flush=True)


class MlflowServer:
    def __init__(self, folder):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        os.makedirs(folder)
        self.process = subprocess.Popen(
            [bin_of("mlflow"), "server", "--host", "127.0.0.1", "--port", str(self.port), "--backend-store-uri",
             "sqlite:///m.db", "--artifacts-destination", "./art", "--serve-artifacts", "--workers", "1"], cwd=folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for _ in range(1200):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        sys.exit("no MLflow server came up")

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.kill()


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps what comes as (method, path, headers, body); answer(receiver, path, body) gives (status, JSON)."""
    daemon_threads = True

    def __init__(self, answer):
        self.answer, self.got, self.lock = answer, [], threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *args):
        self.shutdown()
        super().__exit__(*args)

    def handle_error(self, request, client_address):
        pass  # a client that goes away


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def take(self):
        body = b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while length := int(self.rfile.readline(), 16):
                body += self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        with self.server.lock:
            self.server.got.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            status, answer = self.server.answer(self.server, self.path, body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = take


def wandb_cloud(receiver, path, body):
    if not path.endswith("/graphql"):
        return 200, {"exitcode": None, "limits": {}}
    question = json.loads(body)
    if "upsertBucket" in question["query"]:
        project = {"id": "p", "name": "peers", "entity": {"id": "e", "name": "me"}}
        bucket = {"id": "x", "name": question["variables"].get("name"), "displayName": "d", "description": "", "config": "{}",
                  "sweepName": None, "project": project, "historyLineCount": 0}
        return 200, {"data": {"upsertBucket": {"bucket": bucket, "inserted": True}}}
    if "createRunFiles" in question["query"]:
        files = [{"name": f, "uploadUrl": f"{receiver.url}/up/{f}"} for f in question["variables"]["files"]]
        return 200, {"data": {"createRunFiles": {"runID": "x", "uploadHeaders": [], "files": files}}}
    return 200, {"data": {"viewer": {"id": "v", "entity": "me", "username": "me", "flags": "{}", "teams": {"edges": []}}}}


class Test:
    def __init__(self, hone, folder):
        self.hone, self.folder = hone, folder
        self.base = {k: v for k, v in os.environ.items() if not k.startswith(("WANDB_", "MLFLOW_", "OTEL_", "CLOUDSDK_", "HONE_RUN"))}
        self.base.update(no_proxy="127.0.0.1,localhost", HOME=folder, NO_GCE_CHECK="true")
        words = open(os.path.join(SOURCE, "MAP.md"), encoding="utf-8").read().split()[:800]
        with open(os.path.join(folder, "train.jsonl"), "w", encoding="utf-8") as f:
            for i in range(0, 400, 20):
                f.write(json.dumps({"text": " ".join(words[i:i + 20])}) + "\n")

    def command(self, reporter, out, *more):
        return [self.hone, "train", "--task", "clm", "--model_name_or_path", os.path.join(SOURCE, "tests", "goldens", "tiny_text_gpt2"),
                "--train_file", "train.jsonl", "--validation_split_percentage", "20", "--do_train", "--do_eval", "--max_steps", "6",
                "--block_size", "32", "--per_device_train_batch_size", "2", "--learning_rate", "0.01", "--logging_steps", "2",
                "--eval_strategy", "steps", "--eval_steps", "3", "--save_steps", "3", "--run_name", "peers run",
                "--report_to", reporter, "--output_dir", out, *more]

    def train(self, reporter, out, environment, *more):
        done = subprocess.run(self.command(reporter, out, *more), cwd=self.folder, env={**self.base, **environment},
                              capture_output=True, text=True, timeout=300)
        log = done.stdout + done.stderr
        if done.returncode != 0 or SECRET in log or "warning: " in log:
            sys.exit(f"{reporter}: {done.returncode}\n{log}")
        with open(os.path.join(self.folder, out, "trainer_state.json"), encoding="utf-8") as f:
            return log, json.load(f)["log_history"]

    def read(self, program, *args):
        done = subprocess.run([bin_of("python"), "-c", program, *args], cwd=self.folder, env=self.base, capture_output=True,
                              text=True, timeout=300)
        if done.returncode:
            sys.exit(done.stderr[-3000:])
        return json.loads(done.stdout)

    def wandb(self):
        key = SECRET.ljust(40, "x")
        log, history = self.train("wandb", "w", {"WANDB_API_KEY": key, "WANDB_PROJECT": "peers", "WANDB_TAGS": "a, b",
                                                 "WANDB_NOTES": "note", "WANDB_RUN_ID": "abcd1234"})
        (run,) = [d for d in os.listdir(os.path.join(self.folder, "wandb")) if d.endswith("-abcd1234")]
        run = os.path.join("wandb", run)
        assert f"wandb sync {run}" in log, log
        found = self.read(READ_WANDB, os.path.join(run, "run-abcd1234.wandb"))
        assert found["run"] == ["abcd1234", "peers", "peers run", ["a", "b"], "note"], found["run"]
        assert found["config"]["max_steps"] == 6 and found["exit"] == 0, found
        assert found["stats"] and found["stats"][0]["proc.memory.rssMB"] > 1, found["stats"]
        assert "train" in found["output"], found["output"]
        told = [{k: v for k, v in h.items() if not k.startswith("_")} for h in found["history"]]
        wanted = []
        for entry in history:
            names = {("eval/" + k[5:] if k.startswith("eval_") else "eval/" + k if k == "perplexity" else "train/" + k): v
                     for k, v in entry.items() if k != "step" and k not in ONCE}
            wanted.append({**names, "train/global_step": entry["step"]})
        for entry in wanted:
            assert entry in told, (entry, told)
        last = [e for e in history if "train_runtime" in e][0]
        assert all(found["summary"][k] == last[k] for k in ONCE if k in last), found["summary"]
        print("wandb: the client's messages decode the file", flush=True)
        with Receiver(wandb_cloud) as cloud:
            done = subprocess.run([bin_of("wandb"), "sync", run], cwd=self.folder, capture_output=True, text=True, timeout=120,
                                  env={**self.base, "WANDB_BASE_URL": cloud.url, "WANDB_API_KEY": key})
            files = {path[4:]: body.decode() for method, path, _, body in cloud.got if path.startswith("/up/")}
            lines = []
            for _, path, _, body in cloud.got:
                if path.endswith("/file_stream"):
                    piece = json.loads(body).get("files", {}).get("wandb-history.jsonl")
                    lines += [json.loads(line) for line in piece["content"]] if piece else []
        assert done.returncode == 0 and "Finished syncing" in done.stderr, done.stderr
        assert len(lines) == len(told), (lines, told)
        assert {line["_step"]: line.get("train/loss") for line in lines} == {i: h.get("train/loss") for i, h in enumerate(told)}
        assert json.loads(files["wandb-summary.json"])["train/global_step"] == 6, files
        assert "max_steps" in files["config.yaml"] and '"hone"' in files["wandb-metadata.json"], files
        assert files["output.log"] == found["output"], files["output.log"]
        print("wandb: `wandb sync` uploads it", flush=True)
        self.train("wandb", "w2", {"WANDB_MODE": "disabled", "WANDB_DIR": "nothing"})
        assert not os.path.exists(os.path.join(self.folder, "nothing"))

    def mlflow(self):
        with MlflowServer(os.path.join(self.folder, "mlflow_server")) as server:
            environment = {"MLFLOW_TRACKING_URI": server.url.replace("//", f"//me:{SECRET}@"), "MLFLOW_EXPERIMENT_NAME": "peers",
                           "MLFLOW_TAGS": '{"team": "t", "n": 1}', "HF_MLFLOW_LOG_ARTIFACTS": "true"}
            _, history = self.train("mlflow", "m", environment)
            (run,) = self.read(READ_MLFLOW, server.url)
            assert (run["status"], run["name"]) == ("FINISHED", "peers run") and run["ended"], run
            assert run["tags"]["team"] == "t" and run["tags"]["n"] == "1", run["tags"]
            assert run["params"]["max_steps"] == "6" and run["params"]["learning_rate"] == "0.01", run["params"]
            assert "config.json" in run["artifacts"] and "trainer_state.json" in run["artifacts"], run["artifacts"]
            assert not [a for a in run["artifacts"] if "safetensors" in a], run["artifacts"]
            wanted = {}
            for entry in history:
                for key, value in entry.items():
                    if key != "step":
                        wanted.setdefault(key, set()).add((entry["step"], value))  # equal ones of one millisecond are one
            for key, values in wanted.items():
                assert {tuple(v) for v in run["metrics"][key]} == values, (key, values, run["metrics"].get(key))
            assert "system/cpu_utilization_percentage" in run["metrics"], sorted(run["metrics"])
            self.train("mlflow", "m2", {**environment, "MLFLOW_RUN_ID": run["id"]}, "--seed", "7")
            (again,) = self.read(READ_MLFLOW, server.url)
            assert again["status"] == "FINISHED" and again["params"] == run["params"], again
            assert len(again["metrics"]["loss"]) == 2 * len(run["metrics"]["loss"]), again["metrics"]["loss"]
            print("mlflow: the client reads params, metrics and artifacts back", flush=True)
            log_path = os.path.join(self.folder, "killed.log")
            with open(log_path, "w+") as log:
                run = subprocess.Popen(self.command("mlflow", "m3", "--max_steps", "600", "--eval_strategy", "no", "--save_steps", "600"),
                                       cwd=self.folder, env={**self.base, **environment}, stdout=log, stderr=log)
                while run.poll() is None and " step " not in open(log_path).read():
                    time.sleep(0.02)
                server.kill()
                status = run.wait(timeout=300)
            text = open(log_path).read()
            assert status == 0 and text.count("cannot be reached") == 1 and SECRET not in text, f"{status}\n{text}"
            print("mlflow: a server that is killed costs a warning", flush=True)
        gone = subprocess.run(self.command("mlflow", "m4"), cwd=self.folder, env={**self.base, **environment}, capture_output=True,
                              text=True, timeout=120)
        text = gone.stdout + gone.stderr
        assert gone.returncode != 0 and "H0107" in text and SECRET not in text, text
        print("mlflow: without a server the run does not begin", flush=True)

    def otlp(self):
        trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
        with Receiver(lambda receiver, path, body: (503 if len(receiver.got) == 1 else 200, {})) as collector:
            _, history = self.train("otlp", "o", {
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url + "/", "OTEL_EXPORTER_OTLP_HEADERS": f"api-key={SECRET}%3D,x=y",
                "OTEL_SERVICE_NAME": "peers", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test%20bed",
                "TRACEPARENT": f"00-{trace}-{parent}-01"})
            got = [(path, headers, body) for _, path, headers, body in collector.got]
        os.makedirs(os.path.join(self.folder, "otlp"))
        for i, (path, headers, body) in enumerate(got[1:]):
            assert headers["api-key"] == SECRET + "=" and headers["content-type"] == "application/x-protobuf", headers
            with open(os.path.join(self.folder, "otlp", f"{i}.{path.rsplit('/', 1)[1]}"), "wb") as f:
                f.write(body)
        found = self.read(READ_OTLP, "otlp")
        resource = {a["key"]: a["value"]["stringValue"] for a in found["traces"][0]["resourceSpans"][0]["resource"]["attributes"]}
        assert resource["service.name"] == "peers" and resource["deployment.environment"] == "test bed", resource
        spans = {}
        for request in found["traces"]:
            for s in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
                spans.setdefault(s["name"], []).append(s)
        (run,), (train,) = spans["hone train"], spans["train"]
        hex_id = base64.b64decode
        assert hex_id(run["traceId"]).hex() == trace and hex_id(run["parentSpanId"]).hex() == parent, run
        assert train["parentSpanId"] == run["spanId"] and run["status"] == {"code": "STATUS_CODE_OK"}, (run, train)
        assert len(spans["evaluate"]) == len([e for e in history if "eval_runtime" in e]), spans["evaluate"]
        assert len(spans["save"]) >= 2 and all(s["parentSpanId"] in (train["spanId"], run["spanId"]) for s in spans["save"]), spans
        for s in [s for l in spans.values() for s in l]:
            assert int(run["startTimeUnixNano"]) <= int(s["startTimeUnixNano"]) <= int(s["endTimeUnixNano"]), s
        metrics = {}
        for request in found["metrics"]:
            for m in request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
                metrics[m["name"]] = m
        steps = metrics["hone_train_steps_total"]["sum"]
        assert steps["isMonotonic"] and steps["aggregationTemporality"] == "AGGREGATION_TEMPORALITY_CUMULATIVE", steps
        assert steps["dataPoints"][0]["asDouble"] == 6, steps
        assert metrics["hone_train_step"]["gauge"]["dataPoints"][0]["asDouble"] == 6
        times = metrics["hone_train_step_seconds"]["histogram"]["dataPoints"][0]
        assert sum(int(n) for n in times["bucketCounts"]) == int(times["count"]) == 6, times
        assert len(times["bucketCounts"]) == len(times["explicitBounds"]) + 1 and metrics["hone_train_step_seconds"]["unit"] == "s"
        lines = [l for r in found["logs"] for l in r["resourceLogs"][0]["scopeLogs"][0]["logRecords"]]
        assert any("train" in l["body"]["stringValue"] for l in lines) and {l["severityText"] for l in lines} <= {"INFO", "WARNING"}
        assert all(l["traceId"] == run["traceId"] and l["spanId"] == run["spanId"] for l in lines)
        print("otlp: opentelemetry-proto decodes metrics, log and trace", flush=True)

    def cloud_logging(self):
        def answer(receiver, path, body):
            return {1: 401, 3: 503}.get(len(receiver.got), 200), {}
        with Receiver(answer) as cloud:
            log, _ = self.train("cloud_logging", "c", {
                "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING": cloud.url + "/", "CLOUDSDK_AUTH_ACCESS_TOKEN": SECRET,
                "GOOGLE_CLOUD_PROJECT": "p1"}, "--max_steps", "600", "--eval_strategy", "no", "--save_steps", "600")
            got = list(cloud.got)
        contract = os.path.join(os.path.dirname(os.environ.get("HONE_DATA", os.path.join(SOURCE, "..", "shared", "data"))),
                                "contracts", "google", "logging.v2.json")
        schemas = json.load(open(contract, encoding="utf-8"))["schemas"] if os.path.exists(contract) else None

        def check(value, schema):
            if "$ref" in schema:
                schema = schemas[schema["$ref"]]
            kind = {"object": dict, "array": list, "string": str, "boolean": bool}.get(schema.get("type"))
            assert kind is None or isinstance(value, kind), (value, schema)
            assert value in schema.get("enum", [value]), (value, schema)
            for key, member in value.items() if isinstance(value, dict) and "properties" in schema else []:
                assert key in schema["properties"] and not schema["properties"][key].get("readOnly"), key
                check(member, schema["properties"][key])
            for member in value if isinstance(value, list) else []:
                check(member, schema["items"])

        entries, seen = [], set()
        for i, (method, path, headers, body) in enumerate(got):
            assert (method, path, headers.get("authorization")) == ("POST", "/v2/entries:write", "Bearer " + SECRET), (path, headers)
            request = json.loads(body, parse_constant=lambda c: sys.exit(f"{c} in a request"))
            if schemas:
                check(request, {"$ref": "WriteLogEntriesRequest"})
            assert request["logName"] == "projects/p1/logs/hone" and set(request["labels"]) == {"run", "rank", "host"}, request
            if i not in (0, 2):
                assert not seen & {e["insertId"] for e in request["entries"]}, "sent twice"
                seen |= {e["insertId"] for e in request["entries"]}
                entries += request["entries"]
        assert got[0][3] == got[1][3], "what was refused is sent again"
        messages = [e["jsonPayload"]["message"] for e in entries]
        assert any("train" in m for m in messages) and any(e.get("labels", {}).get("step") for e in entries), messages
        numbers = [int(e["insertId"].rsplit("-", 1)[1]) for e in entries]
        assert numbers == list(range(len(numbers))), numbers
        print(f"cloud_logging: {len(entries)} entries" + (", of the schema" if schemas else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--only", choices=["wandb", "mlflow", "otlp", "cloud_logging"])
    options = parser.parse_args()
    if not have_peers(options.install):
        return 77
    folder = tempfile.mkdtemp(prefix="hone_reporters_")
    try:
        test = Test(os.path.abspath(options.hone), folder)
        for name in [options.only] if options.only else ["wandb", "otlp", "cloud_logging", "mlflow"]:
            getattr(test, name)()
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
