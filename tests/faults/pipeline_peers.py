#!/usr/bin/env python3
# nightly: --install
"""What `hone pipeline compile` writes, read by those whom it is written for; and the token shards of a pipeline,
read by Hugging Face datasets.

kfp: the real package parses the specification strictly, loads it as a component and compiles it again; references
between tasks are checked here, which kfp does not do. argo: the schema of a Workflow. vertex: a PipelineJob by the
fields that aiplatform.v1 knows. The schemas are read from ../shared/contracts, where they are there.

    tests/faults/pipeline_peers.py --hone build/hone [--install] [--only kfp]

The peers live in build/pipeline-peers; --install makes it. Without it the test is skipped.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from checks import Fault, demand  # noqa: E402

VENV = os.path.join(SOURCE, "build", "pipeline-peers")
CONTRACTS = os.path.join(os.environ.get("HONE_DATA", os.path.join(SOURCE, "..", "shared", "data")), "..", "contracts")
PACKAGES = ["kfp==2.17.*", "jsonschema==4.*", "datasets==5.*"]
NAMES = ["download", "check", "preprocess", "train", "evaluate", "register", "should-deploy", "deploy"]
GENERAL = """name: words
steps:
  - name: count
    run: |
      sh -c 'wc -l < ${inputs.rows} > ${out}/lines; echo "{\\"lines\\": 3, \\"kind\\": \\"a\\"}"'
    inputs: {rows: "gs://B/rows.txt"}
    retries: 2
    timeout: 5m
  - name: many
    run: cp ${steps.count}/lines ${out}/b
    when: ${steps.count.lines} > 2
  - name: named
    run: echo ${steps.count.kind} ${run}
"""

READ_KFP = """
import json, sys, yaml
from google.protobuf import json_format
from kfp import compiler, components
from kfp.pipeline_spec import pipeline_spec_pb2
path, again = sys.argv[1:]
documents = list(yaml.safe_load_all(open(path)))
spec = json_format.ParseDict(documents[0], pipeline_spec_pb2.PipelineSpec())
if len(documents) > 1:
    json_format.ParseDict(documents[1], pipeline_spec_pb2.PlatformSpec())
component = components.load_component_from_text(open(path).read())
compiler.Compiler().compile(component, again)
print(json.dumps(json_format.MessageToDict(spec)))
"""
READ_DATASETS = """
import sys, datasets
d = datasets.load_from_disk(sys.argv[1])
row = d["train"][0]
print(len(d["train"]), sorted(row), all(isinstance(i, int) for i in row["input_ids"]))
"""


READ_ARGO = """
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
schema = schema.get("schema", schema)
for part in [schema, *schema["$defs"].values()]:  # a field that is not known is an error
    if part.get("properties"):
        part.setdefault("additionalProperties", False)
jsonschema.validate(json.load(open(sys.argv[2])), schema)
"""


def peer(code, *args):
    done = subprocess.run([os.path.join(VENV, "bin", "python"), "-W", "ignore", "-c", code, *args], capture_output=True, text=True, timeout=300)
    demand(done.returncode == 0, done.stdout + done.stderr)
    return done.stdout


def contract(*parts):
    path = os.path.join(CONTRACTS, *parts)
    if not os.path.exists(path):
        print(f"skipped: {'/'.join(parts)} is not in the contracts", flush=True)
        return None
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def check_references(spec):
    """Every task that a task refers to, and every output and input, is there."""
    tasks, parts = spec["root"]["dag"]["tasks"], spec["components"]
    for name, task in tasks.items():
        part = parts[task["componentRef"]["name"]]
        demand(part["executorLabel"] in spec["deploymentSpec"]["executors"], f"{name} has no executor")
        inputs = task.get("inputs", {})
        for kind, producer, key in (("artifacts", "taskOutputArtifact", "outputArtifactKey"), ("parameters", "taskOutputParameter", "outputParameterKey")):
            wanted = part.get("inputDefinitions", {}).get(kind, {})
            demand(set(wanted) == set(inputs.get(kind, {})), f"{name}: {kind} {set(wanted)} but gets {set(inputs.get(kind, {}))}")
            for what, source in inputs.get(kind, {}).items():
                source = source[producer]
                demand(source["producerTask"] in task.get("dependentTasks", []), f"{name} does not wait for {source}")
                made = parts[tasks[source["producerTask"]]["componentRef"]["name"]].get("outputDefinitions", {}).get(kind, {})
                demand(source[key] in made, f"{name}: {source} is never made")
                demand(made[source[key]] == wanted[what], f"{name}: {what} is {wanted[what]}, made as {made[source[key]]}")
        words = spec["deploymentSpec"]["executors"][part["executorLabel"]]["container"]
        text = " ".join(words["command"] + words["args"])
        for at in range(len(text)):
            if text.startswith("{{$.", at):
                which = text[at + 4:text.index("}}", at)].split(".")
                if which[0] == "pipeline_job_name":
                    continue
                side = "inputDefinitions" if which[0] == "inputs" else "outputDefinitions"
                kind, key = which[1].split("['")
                demand(key.rstrip("']") in part.get(side, {}).get(kind, {}), f"{name}: {which} refers to nothing")
    return tasks


def known_fields(schemas, schema, value, path=""):
    """Fields of `value` that the discovery document does not know."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"]]
    if isinstance(value, dict):
        if schema.get("properties"):
            for key, member in value.items():
                demand(key in schema["properties"], f"{path}.{key} is not a field of {schema.get('id')}")
                known_fields(schemas, schema["properties"][key], member, f"{path}.{key}")
        elif "additionalProperties" in schema and "$ref" in schema["additionalProperties"]:
            for key, member in value.items():
                known_fields(schemas, schema["additionalProperties"], member, f"{path}.{key}")
    elif isinstance(value, list):
        for member in value:
            known_fields(schemas, schema.get("items", {}), member, path + "[]")
    elif schema.get("enum"):
        demand(value in schema["enum"], f"{path}: {value}")
    elif schema.get("type") == "string":
        demand(isinstance(value, str), f"{path}: {value}")


class Peers:
    def __init__(self, hone, folder):
        self.hone, self.folder = hone, folder
        with open(self.path("general.yaml"), "w", encoding="utf-8") as f:
            f.write(GENERAL)
        self.configs = [os.path.join(SOURCE, "configs", name) for name in sorted(os.listdir(os.path.join(SOURCE, "configs")))]
        demand(len(self.configs) >= 4, "there are no configs")

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def compile(self, config, to, out):
        done = subprocess.run([self.hone, "pipeline", "compile", config, "--to", to, "--pipeline_root", "gs://B/runs", "--project", "P", "--image",
                               "r/hone:1", "--registry", "postgresql://u@host/db", "-o", self.path(out)], capture_output=True, text=True)
        demand(done.returncode == 0, done.stderr)
        return self.path(out)

    def kfp(self):
        for config in self.configs + [self.path("general.yaml")]:
            path = self.compile(config, "kfp", "p.yaml")
            spec = json.loads(peer(READ_KFP, path, self.path("again.yaml")))
            tasks = check_references(spec)
            if config in self.configs:
                demand(list(tasks) == NAMES or sorted(tasks) == sorted(NAMES), f"steps {list(tasks)}")
                demand(tasks["deploy"]["triggerPolicy"]["condition"] == "inputs.parameter_values['should_deploy__verdict'] == 'promote'", tasks["deploy"])
                gpu = spec["deploymentSpec"]["executors"]["exec-train"]["container"]["resources"]["accelerator"]
                demand(gpu["type"] == "nvidia.com/gpu" and int(gpu["count"]) >= 1, gpu)
            else:
                demand(tasks["many"]["triggerPolicy"]["condition"] == "inputs.parameter_values['count__lines'] > 2", tasks["many"])
                demand(spec["components"]["comp-count"]["outputDefinitions"]["parameters"]["lines"]["parameterType"] == "NUMBER_DOUBLE", spec)

    def argo(self):
        schema = contract("argo", "workflow_schema.json")
        if schema is None:
            return
        for config in self.configs + [self.path("general.yaml")]:
            path = self.compile(config, "argo", "w.json")
            with open(path, encoding="utf-8") as f:
                workflow = json.load(f)
            with open(self.path("schema.json"), "w", encoding="utf-8") as f:
                json.dump(schema, f)
            peer(READ_ARGO, self.path("schema.json"), path)
            templates = {t["name"]: t for t in workflow["spec"]["templates"]}
            for task in templates["main"]["dag"]["tasks"]:
                given = task.get("arguments", {})
                wanted = templates[task["template"]].get("inputs", {})
                for kind in ("artifacts", "parameters"):
                    demand({x["name"] for x in given.get(kind, [])} == {x["name"] for x in wanted.get(kind, [])}, f"{task['name']}: {given} for {wanted}")
                for what in given.get("artifacts", []) + given.get("parameters", []):
                    from_step, _, kind, name = (what.get("from") or what["value"])[2:-2].split(".")[1:]
                    made = {x["name"] for x in templates[from_step].get("outputs", {}).get(kind, [])}
                    demand(name in made, f"{task['name']}: {from_step} never makes {name}")

    def vertex(self):
        discovery = contract("google", "aiplatform.v1.json")
        for config in self.configs:
            path = self.compile(config, "vertex", "v.json")
            with open(path, encoding="utf-8") as f:
                job = json.load(f)
            if discovery:
                schemas = discovery["schemas"]
                known_fields(schemas, {"$ref": next(k for k in schemas if k.endswith("V1PipelineJob"))}, job)
            with open(self.path("spec.json"), "w", encoding="utf-8") as f:
                json.dump(job["pipelineSpec"], f)
            spec = json.loads(peer(READ_KFP, self.path("spec.json"), self.path("again.yaml")))
            check_references(spec)
            with open(config, encoding="utf-8") as f:
                wanted = json.load(f)
            resources = spec["deploymentSpec"]["executors"]["exec-train"]["container"]["resources"]
            demand(resources["accelerator"]["type"] == "NVIDIA_TESLA_A100" and int(resources["accelerator"]["count"]) == wanted["gpu_count"], resources)
            deploy = spec["deploymentSpec"]["executors"]["exec-deploy"]["container"]
            demand(wanted["deploy_machine_type"] in deploy["args"], deploy)
            demand(subprocess.run(["sh", "-n", "-c", deploy["command"][2]], check=False).returncode == 0, "the script of deploy is not a script")

    def datasets(self):
        pairs = os.path.join(SOURCE, "tests", "goldens", "pairs")
        for args in (["pull", pairs + "/t5", pairs + "/texts.csv", "--to", "pulled"],
                     ["prepare", "--task", "summarization", "--model_name_or_path", "pulled/model", "--dataset_name", "pulled/data",
                      "--validation_split_percentage", "20", "--output_dir", "shards"]):
            done = subprocess.run([self.hone, *args], cwd=self.folder, capture_output=True, text=True)
            demand(done.returncode == 0, done.stderr)
        said = peer(READ_DATASETS, self.path("shards")).split()
        demand(said == ["8", "['input_ids',", "'labels']", "True"], said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--only")
    options = parser.parse_args()
    done = os.path.join(VENV, "bin", "kfp")
    if options.install and not os.path.exists(done):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([os.path.join(VENV, "bin", "pip"), "-q", "install", *PACKAGES], check=True)
    if not os.path.exists(done):
        print("skipped: tests/faults/pipeline_peers.py --install makes build/pipeline-peers with kfp, jsonschema and datasets")
        return 77
    folder = tempfile.mkdtemp(prefix="hone_pipeline_peers_")
    wrong = 0
    try:
        p = Peers(os.path.abspath(options.hone), folder)
        for what in p.kfp, p.argo, p.vertex, p.datasets:
            if options.only not in (None, what.__name__):
                continue
            try:
                what()
                print(f"{what.__name__:<10} ok", flush=True)
            except Fault as e:
                wrong += 1
                print(f"{what.__name__:<10} {e}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
