#!/usr/bin/env python3
"""Two machines, one bucket, one registry. The first trains, registers and deploys with a bucket as pipeline_root, and is
gone with all its files; the second deploys the model, which answers with the texts that were evaluated, trains it again to
the same bits, and decides on the next version against it. The registry names the bucket's objects alone.

    tests/faults/two_homes.py --hone build/hone

The registry is a PostgreSQL server of this machine where Debian's postgresql is installed, and a shared SQLite file.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, "tests", "support"), os.path.join(SOURCE, "tools")]
import fake_buckets  # noqa: E402
from checks import clean_environment  # noqa: E402
from deploy import ask  # noqa: E402
from registry_postgres import Server  # noqa: E402

T5 = os.path.join(SOURCE, "tests", "goldens", "pairs", "t5")
WORDS = "snow fell on the hills rain came over town ferry leaves at nine back six men wrote a letter dog sat mat".split()


class Home:
    """A machine: its own home, folder and caches; the bucket and the registry are shared."""

    def __init__(self, program, folder, name, shared):
        self.program, self.home, self.folder = program, os.path.join(folder, name), os.path.join(folder, name + "_work")
        os.makedirs(self.home)
        os.makedirs(self.folder)
        self.environment = clean_environment(self.home, program, **shared)

    def __call__(self, *args, status=0):
        done = subprocess.run([self.program, *args], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=600)
        assert done.returncode == status, (args, done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout) if status == 0 and "--json" in args else done.stdout + done.stderr

    def shell(self, line):
        done = subprocess.run(["sh", "-c", line], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=600)
        assert done.returncode == 0, (line, done.stdout, done.stderr)

    def rows(self, url):
        return [json.loads(line) for line in self("store", "cat", url).splitlines() if line.startswith("{")]

    def run(self, name, **train):
        config = {"dataset": "gs://shared/data", "document_column": "source", "summary_column": "target",
                  "model_checkpoint": T5, "batch_size": 4, "epochs": 1, "model_display_name": "tldr",
                  "policy": {"metric": "rougeL"}, "generate": {"generation_max_length": 12},
                  "train": dict(train, max_source_length=24, max_target_length=12, lr_scheduler_type="constant")}
        with open(os.path.join(self.folder, name + ".json"), "w", encoding="utf-8") as f:
            json.dump(config, f)
        return self("pipeline", "run", name + ".json", "--pipeline_root", "gs://shared/runs", "--run", name, "--json")


def write_rows(path):
    with open(path, "w", encoding="utf-8") as f:
        for i in range(24):
            words = [WORDS[(i * 5 + k * 3) % len(WORDS)] for k in range(9)]
            f.write(json.dumps({"source": " ".join(words), "target": " ".join(words[:3])}) + "\n")


def answers_of(machine, url, shown):
    """The texts that the endpoint gives for the evaluated rows, and those of the evaluation."""
    wanted = [row["prediction"] for row in machine.rows(shown["evaluation"] + "/eval_examples.jsonl")]
    texts = [row["source"] for row in machine.rows("gs://shared/data/validation.jsonl")]
    endpoint = machine("endpoints", "show", "tldr", "--json")["endpoint"]
    answer = ask(url, f"/v1/projects/p/locations/l/endpoints/{endpoint}:predict", {"instances": texts})
    return [a.strip() for a in answer["predictions"]], wanted


def check(program, folder, registry, environment):
    shared = {**environment, "HONE_REGISTRY": registry}
    first, second = (Home(program, folder, name, shared) for name in ("first", "second"))
    for split in ("train", "validation"):
        write_rows(os.path.join(first.folder, split + ".jsonl"))
        first("store", "cp", split + ".jsonl", f"gs://shared/data/{split}.jsonl")
    try:
        story(first, second)
    finally:
        subprocess.run([program, "endpoints", "delete", "tldr"], env=second.environment, capture_output=True, timeout=120)


def story(first, second):
    outcome = first.run("one", max_steps=3, learning_rate=0.001)
    assert outcome["verdict"] == "promote", outcome
    url = first("endpoints", "show", "tldr", "--json")["url"]
    first("endpoints", "stop", "tldr")
    for folder in (first.home, first.folder):
        shutil.rmtree(folder)

    shown = second("models", "show", "tldr:1", "--json")
    assert shown["source"] == "gs://shared/runs/one/train", shown["source"]
    assert shown["evaluation"] == "gs://shared/runs/one/evaluate", shown["evaluation"]
    pinned = {f["file"]: f for f in shown["files"]}
    assert pinned["model.safetensors"]["version"] and pinned["model.safetensors"]["bytes"] > 0, pinned
    assert first.home + "/" not in json.dumps(shown), [v for v in str(shown).split("'") if first.home + "/" in v]
    assert shown["run"]["record"]["model"] == "gs://shared/runs/one/download/model", shown["run"]["record"]
    assert shown["run"]["record"]["model_name"] == T5, shown["run"]["record"]
    assert [d["name"] for d in shown["run"]["record"]["data"]] == ["gs://shared/data"], shown["run"]["record"]
    assert first.home + "/" not in second("store", "cat", shown["evaluation"] + "/eval_run.json")
    deployed = second("deploy", "tldr", "--json")
    assert deployed["url"] == url, (deployed, url)
    answers, wanted = answers_of(second, url, shown)
    assert answers == wanted and len(wanted) == 24, list(zip(answers, wanted))[:3]

    told = second("reproduce", "tldr:1", "--json")
    assert told["first_difference"] is None, told
    names = [c["what"] for c in told["checks"]]
    assert "data gs://shared/data" in names and f"initial model {T5}" in names, names
    second.shell(told["command"])
    again = second("models", "register", "--name", "tldr", "--model", "tldr_1_again", "--json")
    assert (again["version"], again["source"]) == (1, shown["source"]), again

    better = second.run("two", max_steps=200, learning_rate=0.01)
    assert better["verdict"] in ("promote", "refuse", "hold"), better
    decision = second("models", "show", "tldr:2", "--json")["decisions"][0]
    assert decision["against"] == 1 and decision["evidence"]["comparison"]["rows"] == 24, decision
    second("endpoints", "stop", "tldr")

    # Other bytes under the registered name are never served.
    second("store", "cp", "two.json", "gs://shared/runs/one/train/config.json")
    said = second("deploy", "tldr:1", status=1)
    assert "H3145" in said and "config.json" in said, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    program = os.path.abspath(parser.parse_args().hone)
    kinds = ["sqlite"]
    if glob.glob("/usr/lib/postgresql/*/bin/initdb"):
        kinds.append("postgresql")
    else:
        print("two_homes: PostgreSQL is left out: its server is not installed (apt-get install postgresql)")
    for kind in kinds:
        folder, place = tempfile.mkdtemp(prefix="hone_homes_"), tempfile.mkdtemp(prefix="hone_pg_")
        buckets = subprocess.Popen([sys.executable, os.path.join(SOURCE, "tools", "fake_buckets.py"), "--bucket", "gs://shared"],
                                   stdout=subprocess.PIPE, text=True)
        server = None
        try:
            environment = fake_buckets.environment(int(buckets.stdout.readline().split()[1]))
            registry = os.path.join(folder, "registry.db")
            if kind == "postgresql":
                server = Server(place)
                registry = f"postgresql://hone@/postgres?host={place}"
            check(program, folder, registry, environment)
            print(f"two_homes: another machine deploys and reproduces with {kind}", flush=True)
        finally:
            if server:
                server.stop()
            buckets.kill()
            buckets.wait()
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(place, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
