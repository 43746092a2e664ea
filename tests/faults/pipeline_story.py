#!/usr/bin/env python3
"""From one JSON to an endpoint on real rows (SciTLDR): a model is trained, evaluated, registered, decided on and deployed;
the recipe's request is answered; a model that is not better is refused; a better one takes its place while requests come,
and none of them fails. What it answers are the texts that were evaluated, before and after its server was killed. The run tells the results of its
steps, a line that asks the endpoint, and one that stops it.

    tests/faults/pipeline_story.py --hone build/hone

Needs HONE_DATA (default ../shared/data) with scitldr; the model is a tiny T5.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from deploy import Hone, Load, ask
from serve_reload import until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("HONE_DATA", os.path.join(ROOT, "..", "shared", "data"))


def check_answers(url, path, shown):
    """The endpoint gives the texts whose ROUGE decided."""
    with open(os.path.join(shown["evaluation"], "eval_examples.jsonl")) as f:
        wanted = [json.loads(line)["prediction"] for line in f]
    with open(os.path.join(os.path.dirname(shown["source"]), "download", "data", "validation-00000-of-00001.jsonl")) as f:
        texts = [json.loads(line)["source"] for line in f]
    answers = [a.strip() for a in ask(url, path, {"instances": texts})["predictions"]]
    assert answers == wanted, [pair for pair in zip(answers, wanted) if pair[0] != pair[1]][:3]
    assert len(set(wanted)) > 1, wanted[:3]
    return len(wanted)


def is_served(url):
    try:
        ask(url, "/healthz")
        return True
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(ROOT, "build", "hone"))
    options = parser.parse_args()
    rows = os.path.join(DATA, "scitldr", "dev.jsonl")
    if not os.path.exists(rows):
        print(f"skipped: there is no {rows}")
        return 77
    folder = tempfile.mkdtemp(prefix="hone_story_")
    hone = Hone(os.path.abspath(options.hone), folder)
    try:
        os.mkdir(os.path.join(folder, "data"))
        with open(rows) as f:
            some = [next(f) for _ in range(80)]
        # The better model has seen what it is judged by: the story is about the decision, not about the model.
        for split in ("train", "validation"):
            with open(os.path.join(folder, "data", split + ".jsonl"), "w") as f:
                f.writelines(some)

        def run(name, *more, **train):
            config = {"dataset": "data", "document_column": "source", "summary_column": "target",
                      "model_checkpoint": os.path.join(ROOT, "tests", "goldens", "pairs", "t5"), "batch_size": 8, "epochs": 1,
                      "model_display_name": "tldr", "deploy_machine_type": "n1-standard-4", "policy": {"metric": "rougeL"},
                      "train": dict(train, max_source_length=64, max_target_length=24, lr_scheduler_type="constant"),
                      "generate": {"generation_max_length": 16}}
            with open(os.path.join(folder, name + ".json"), "w") as f:
                json.dump(config, f)
            return hone("pipeline", "run", name + ".json", "--pipeline_root", "runs", *(more or ["--json"]))

        def verdict():
            return hone("endpoints", "show", "tldr", "--json")["deployed"]

        first = run("first", max_steps=1, learning_rate=0.0)
        endpoint = first["endpoint"]
        url = hone("endpoints", "show", "tldr", "--json")["url"]
        path = f"/v1/projects/p/locations/us-central1/endpoints/{endpoint}:predict"
        payload = os.path.join(DATA, "ref-llm-pipeline-examples", "predict_payload.json")
        body = json.load(open(payload)) if os.path.exists(payload) else {"instances": ["a text"]}
        answer = ask(url, path, body)
        assert sorted(answer) == ["deployedModelId", "model", "modelDisplayName", "modelVersionId", "predictions"], answer
        assert len(answer["predictions"]) == 1 and isinstance(answer["predictions"][0], str)

        clients = [Load(url, endpoint) for _ in range(2)]
        for c in clients:
            c.start()
        try:
            told = run("worse", "--jobs", "1", max_steps=2, learning_rate=1e-6)
            assert re.search(r"^evaluate +rougeL \S+ \(95 % interval \S+ to \S+, 80 rows\)$", told, re.M), told
            assert re.search(r"^train +mean loss \S+, evaluation loss \S+, \S+ epochs?$", told, re.M), told
            assert re.search(r"^should-deploy +(refuse|hold): rougeL \S+ against \S+ of tldr:1: gain ", told, re.M), told
            assert [d["version"] for d in verdict()] == [1], verdict()
            run("better", max_steps=600, learning_rate=0.01)
            deployed = verdict()
        finally:
            for c in clients:
                c.over = True
            for c in clients:
                c.join()
        assert [(d["version"], d["traffic"]) for d in deployed] == [(3, 100)], deployed
        assert ask(url, path, body)["modelVersionId"] == "3"
        wrong = [w for c in clients for w in c.wrong]
        assert not wrong, wrong[:3]
        # The registry says what the training and the evaluation wrote; the evaluation, which decides, comes last.
        shown = hone("models", "show", "tldr:3", "--json")
        written = {}
        for folder in (shown["source"], shown["evaluation"]):
            with open(os.path.join(folder, "all_results.json")) as f:
                written.update(json.load(f))
        assert shown["metrics"] == written, (shown["metrics"], written)
        same = check_answers(url, path, shown)
        os.kill(ask(url, "/healthz")["pid"], signal.SIGKILL)
        until(lambda: not is_served(url), "the server survives SIGKILL")
        again = hone("deploy", "tldr", "--json")
        assert (again["url"], again["endpoint"], again["version"]) == (url, endpoint, 3), (again, url)
        assert check_answers(url, path, shown) == same
        # What the run prints at its end can be pasted.
        told = hone("pipeline", "run", "better.json", "--pipeline_root", "runs")
        asked = subprocess.run(told[told.index("curl "):told.index("\nstop ")], shell=True, check=True, capture_output=True,
                               env=dict(hone.environment, NO_PROXY="*"))
        assert len(json.loads(asked.stdout)["predictions"]) == 1, asked
        stop = re.search(r"^stop +hone (.*)$", told, re.M).group(1)
        hone(*stop.split())
        until(lambda: not is_served(url), "the server goes on after " + stop)
        print(f"{sum(len(c.versions) for c in clients)} requests were answered while a model was refused and a better one took over; "
              f"{same} texts are those of the evaluation")
    finally:
        hone("endpoints", "delete", "tldr")
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
