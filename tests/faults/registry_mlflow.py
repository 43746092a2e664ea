#!/usr/bin/env python3
"""Models to a real MLflow server and back: its own client reads versions, aliases, runs and files, and a registry that
is filled from the server equals the one that filled it.

    tests/faults/registry_mlflow.py --hone build/hone

Skips with a reason where tests/faults/reporter_peers.py --install has not made build/reporter-peers.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reporter_peers import SOURCE, MlflowServer, bin_of, have_peers  # noqa: E402

READ = """
import hashlib, json, mlflow, sys
c = mlflow.MlflowClient(sys.argv[1])
out = {}
for m in c.search_registered_models():
    versions = []
    for v in sorted(c.search_model_versions(f"name='{m.name}'"), key=lambda v: int(v.version)):
        run = c.get_run(v.run_id)
        folder = mlflow.artifacts.download_artifacts(run_id=v.run_id, artifact_path="model", tracking_uri=sys.argv[1])
        files = {}
        import os
        for f in sorted(os.listdir(folder)):
            files[f] = hashlib.sha256(open(os.path.join(folder, f), "rb").read()).hexdigest()
        versions.append({"version": v.version, "tags": v.tags, "status": v.status, "params": run.data.params,
                         "metrics": run.data.metrics, "run": run.info.status, "files": files})
    full = c.get_registered_model(m.name)
    out[m.name] = {"aliases": full.aliases, "description": full.description, "tags": full.tags, "versions": versions}
print(json.dumps(out))
"""
WRITE = """
import mlflow, sys
mlflow.set_tracking_uri(sys.argv[1])
c = mlflow.MlflowClient()
with mlflow.start_run(run_name="theirs") as run:
    mlflow.log_params({"lr": 0.1, "name": "x"})
    mlflow.log_metric("accuracy", 0.75)
c.create_registered_model("theirs", description="made elsewhere", tags={"team": "b"})
for i in range(3):
    c.create_model_version("theirs", f"runs:/{run.info.run_id}/model", run.info.run_id, tags={"n": str(i)})
c.set_registered_model_alias("theirs", "champion", "2")
"""


def demand(condition, what):
    if not condition:
        sys.exit(f"registry_mlflow: {what}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    options = parser.parse_args()
    if not have_peers(False):
        return 77
    hone = os.path.abspath(options.hone)
    folder = tempfile.mkdtemp(prefix="hone_mlflow_")

    def models(*args, status=0, **more):
        done = subprocess.run([hone, "models", *args], cwd=folder, capture_output=True, text=True, timeout=300,
                              env={**os.environ, **more})
        demand(done.returncode == status, f"{args}: {done.stderr}")
        demand("s3cret" not in done.stdout + done.stderr, "a password is shown")
        return json.loads(done.stdout) if "--json" in args else done.stderr

    def python(program, *args):
        done = subprocess.run([bin_of("python"), "-c", program, *args], cwd=folder, capture_output=True, text=True, timeout=300)
        demand(done.returncode == 0, done.stderr[-3000:])
        return done.stdout

    def shown(registry, name):
        """Everything of a model but times."""
        model = models("show", name, "--registry", registry, "--json")
        for v in model["versions"]:
            v.pop("created")
            run = v.pop("run")
            v["run"] = models("show", f"{name}:{v['version']}", "--registry", registry, "--json")["run"] if run else ""
        return {k: model[k] for k in ("name", "description", "aliases", "versions")}

    try:
        with open(os.path.join(folder, "train.jsonl"), "w", encoding="utf-8") as f:
            f.write('{"text": "the cat sat on the mat and the dog lay on the rug, for it was late and the house was still"}\n' * 4)
        tiny = os.path.join(SOURCE, "tests", "goldens", "tiny_text_gpt2")
        for i in (1, 2):
            subprocess.run([hone, "train", "--task", "clm", "--model_name_or_path", tiny if i == 1 else "out1", "--train_file",
                            "train.jsonl", "--do_train", "--max_steps", str(i), "--block_size", "16", "--output_dir", f"out{i}",
                            "--save_strategy", "no"], cwd=folder, check=True, capture_output=True, timeout=300)
            models("register", "--registry", "a.db", "--name", "news", "--model", f"out{i}", "--label", f"n={i}",
                   "--description", "short texts")
        models("promote", "news:1", "--registry", "a.db")
        models("promote", "news:2", "--registry", "a.db", "--alias", "staging")
        with MlflowServer(os.path.join(folder, "server")) as server:
            place = server.url.replace("//", "//me:s3cret@")
            sent = models("export", "--registry", "a.db", "--to", "mlflow", place, "--json")
            demand(sent == {"models": 1, "versions": 2, "there_already": 0}, sent)
            again = models("export", "news", "--registry", "a.db", "--to", "mlflow", "--json", MLFLOW_TRACKING_URI=place)
            demand(again == {"models": 0, "versions": 0, "there_already": 2}, again)
            seen = json.loads(python(READ, server.url))["news"]
            demand(seen["description"] == "short texts", seen)
            demand({k: str(v) for k, v in seen["aliases"].items()} == {"champion": "1", "staging": "2"}, seen["aliases"])
            for i, v in enumerate(seen["versions"], 1):
                demand(v["status"] == "READY" and v["run"] == "FINISHED", v)
                with open(os.path.join(folder, f"out{i}", "all_results.json"), encoding="utf-8") as f:
                    demand(v["metrics"] == {k: float(x) for k, x in json.load(f).items()}, v["metrics"])
                demand(v["params"]["max_steps"] == str(i), v["params"])
                demand("model.safetensors" in v["files"] and "config.json" in v["files"], v["files"])
            print("registry_mlflow: the client reads versions, aliases, runs and files", flush=True)
            got = models("import", "--registry", "b.db", "--from", "mlflow", place, "--json")
            demand(got == {"models": 1, "versions": 2, "there_already": 0}, got)
            demand(shown("a.db", "news") == shown("b.db", "news"), f"{shown('a.db', 'news')}\n{shown('b.db', 'news')}")
            got = models("import", "--registry", "b.db", "--from", "mlflow", place, "--json")
            demand(got == {"models": 0, "versions": 0, "there_already": 2}, got)
            print("registry_mlflow: a registry that is filled from the server equals the first one", flush=True)
            python(WRITE, server.url)
            got = models("import", "theirs", "--registry", "b.db", "--from", "mlflow", place, "--json")
            demand(got == {"models": 1, "versions": 3, "there_already": 0}, got)
            theirs = models("show", "theirs@champion", "--registry", "b.db", "--json")
            demand(theirs["version"] == 2 and theirs["metrics"] == {"accuracy": 0.75} and theirs["labels"] == {"n": "1"}, theirs)
            demand(theirs["run"]["params"] == {"lr": 0.1, "name": "x"} and theirs["run"]["name"] == "theirs", theirs["run"])
            demand("H3135" in models("import", "nobody", "--registry", "b.db", "--from", "mlflow", place, status=1), "no error")
            print("registry_mlflow: models that others made are imported", flush=True)
        gone = models("export", "--registry", "a.db", "--to", "mlflow", place, status=1)
        demand("H0107" in gone, gone)
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
