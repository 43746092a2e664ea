#!/usr/bin/env python3
# fast
"""The texts that users get are the texts that were evaluated: hone train keeps the prefix, the lengths and the beams with
the model, and hone eval, predict and serve use them without a flag; a flag says otherwise.

    tests/faults/answers.py --hone build/hone
"""
import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile

from serve_reload import ask, until
from store_peers import free_port

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAIRS = os.path.join(ROOT, "tests", "goldens", "pairs")
GLUE = os.path.join(ROOT, "tests", "goldens", "classification")
TEXTS = os.path.join(PAIRS, "texts.csv")
STEPS = ["--do_train", "--learning_rate", "0.01", "--lr_scheduler_type", "constant", "--save_strategy", "no"]


class Hone:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __call__(self, *args):
        done = subprocess.run([self.program, *args], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return done

    def served(self, model, texts, *flags, parameters=None):
        """What a server of the model answers to the texts."""
        port = free_port()
        with open(os.path.join(self.folder, "serve.log"), "a") as log:
            process = subprocess.Popen([self.program, "serve", "m=" + model, "--port", str(port), "--threads", "1", "--batch_size", "4",
                                        "--drain_delay", "0", *flags], cwd=self.folder, stdout=log, stderr=log)
        url = f"http://127.0.0.1:{port}"
        until(lambda: ask(url, "/readyz"), "hone serve is not ready", process)
        body = {"instances": texts}
        if parameters:
            body["parameters"] = parameters
        try:
            return ask(url, "/v1/models/m:predict", body)["predictions"]
        finally:
            process.terminate()
            assert process.wait(60) == 0


def evaluated(hone, task, model, rows, *flags):
    """The predictions of an evaluation, and its metrics; no flag says how texts are generated."""
    out = "eval_" + os.path.basename(model) + "_".join(f.strip("-") for f in flags)
    done = hone("eval", "--task", task, "--model_name_or_path", model, "--validation_file", rows, "--predict_with_generate",
                "--save_examples", "--json", "--output_dir", out, *flags)
    with open(os.path.join(hone.folder, out, "eval_examples.jsonl")) as f:
        return [json.loads(line)["prediction"] for line in f], json.loads(done.stdout), done.stderr


def check_summaries(hone, name, *more):
    """Long sources are cut as in training, beams search, and every text has the prefix."""
    with open(TEXTS) as f:
        rows = list(csv.DictReader(f))
    hone("train", "--task", "summarization", "--model_name_or_path", os.path.join(PAIRS, "t5"), "--train_file", TEXTS,
         "--validation_file", TEXTS, "--do_eval", "--predict_with_generate", "--max_steps", "40", "--source_prefix", "summarize: ",
         "--max_source_length", "12", "--max_target_length", "16", "--generation_max_length", "14", "--num_beams", "3",
         "--output_dir", name, *STEPS, *more)
    with open(os.path.join(hone.folder, name, "eval_results.json")) as f:
        trained = json.load(f)
    texts, metrics, said = evaluated(hone, "summarization", name, TEXTS)
    for key in ("eval_rouge1", "eval_rougeLsum", "eval_gen_len", "eval_loss"):
        assert metrics[key] == trained[key], (key, metrics[key], trained[key])
    assert "as trained" in said and "source_prefix 'summarize: '" in said, said
    answers = hone.served(name, [r["document"] for r in rows])
    assert [a.strip() for a in answers] == texts, (answers, texts)
    assert len(set(texts)) > 1, texts
    hone("predict", "--task", "summarization", "--model_name_or_path", name, "--test_file", TEXTS, "--output_dir", name + "_predicted")
    with open(os.path.join(hone.folder, name + "_predicted", "generated_predictions.txt")) as f:
        assert len(f.read().split("\n")) == len(texts)
    # hone generate puts the same prefix before a prompt, and cuts nothing.
    short = "The ferry leaves."
    for more in ([], ["--prefix", ""]):
        said = hone("generate", "--model_name_or_path", name, "--prompt", short, "--threads", "1", *more)
        served = hone.served(name, [short], *more, parameters={"truncation": False})
        assert said.stdout.strip() == served[0].strip(), (more, said.stdout, served)
        assert ("prefix 'summarize: '" in said.stderr) == (not more), said.stderr
    # A flag says otherwise, for all of them alike.
    other, _, _ = evaluated(hone, "summarization", name, TEXTS, "--source_prefix", "", "--num_beams", "1")
    assert other != texts
    bare = hone.served(name, [r["document"] for r in rows], "--prefix", "", parameters={"num_beams": 1})
    assert [a.strip() for a in bare] == other, (bare, other)
    return len(texts)


def check_positions(hone):
    """Without a length of sources they are cut at the model's positions, of which this one has 48."""
    rows = [{"document": " ".join(["The ferry leaves at nine."] * n), "summary": "A ferry."} for n in (1, 20, 60)]
    with open(os.path.join(hone.folder, "long.jsonl"), "w") as f:
        f.write("".join(json.dumps(r) + "\n" for r in rows))
    hone("train", "--task", "summarization", "--model_name_or_path", os.path.join(PAIRS, "bart"), "--train_file", TEXTS, "--max_steps", "20",
         "--max_target_length", "12", "--validation_split_percentage", "0", "--output_dir", "bart", *STEPS)
    texts, _, _ = evaluated(hone, "summarization", "bart", "long.jsonl")
    answers = hone.served("bart", [r["document"] for r in rows])
    assert [a.strip() for a in answers] == texts, (answers, texts)
    return len(rows)


def check_labels(hone):
    """Rows of a classifier are cut where they were in training."""
    train = os.path.join(GLUE, "train.tsv")
    hone("train", "--task", "classification", "--task_name", "mnli", "--model_name_or_path", os.path.join(GLUE, "bert"), "--train_file",
         train, "--validation_file", train, "--max_steps", "30", "--max_seq_length", "8", "--output_dir", "labels", *STEPS)
    hone("predict", "--task", "classification", "--task_name", "mnli", "--model_name_or_path", "labels", "--test_file", train,
         "--output_dir", "labels_predicted")
    with open(os.path.join(hone.folder, "labels_predicted", "predict_results_mnli.txt")) as f:
        wanted = [line.rstrip("\n").split("\t")[1] for line in f][1:]
    with open(train) as f:
        rows = list(csv.DictReader(f, delimiter="\t"))
    answers = hone.served("labels", [{"text": r["sentence1"], "text_pair": r["sentence2"]} for r in rows])
    assert [a["label"] for a in answers] == wanted, (answers, wanted)
    return len(wanted)


def check_files(hone):
    """Transformers' pipelines read the same."""
    with open(os.path.join(hone.folder, "whole", "config.json")) as f:
        assert json.load(f)["task_specific_params"]["summarization"] == {"prefix": "summarize: ", "max_length": 14, "num_beams": 3}
    with open(os.path.join(hone.folder, "whole", "generation_config.json")) as f:
        kept = json.load(f)
    assert (kept["max_length"], kept["num_beams"]) == (14, 3), kept
    with open(os.path.join(hone.folder, "whole", "hone_task.json")) as f:
        kept = json.load(f)
    assert kept["task"] == "summarization" and kept["settings"]["max_source_length"] == 12, kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(ROOT, "build", "hone"))
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hone_answers_")
    hone = Hone(os.path.abspath(options.hone), folder)
    try:
        same = check_summaries(hone, "whole")
        check_files(hone)
        same += check_summaries(hone, "adapter", "--use_peft", "--lora_r", "4", "--lora_target_modules", "all-linear")
        same += check_positions(hone)
        same += check_labels(hone)
    finally:
        shutil.rmtree(folder)
    print(f"answers: {same} rows are answered as they were evaluated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
