#!/usr/bin/env python3
# nightly: --install
"""What hone train reports to TensorBoard, read by TensorBoard: its event accumulator, its server with
the dashboards SCALARS, HISTOGRAMS, GRAPHS and HPARAMS, and XProf's PROFILE.

    tests/faults/tensorboard_peers.py --hone build/hone [--install]

They live where those of reporter_peers.py do. Without them the test is skipped.
"""
import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

from kill_resume import SOURCE, prepare
from reporter_peers import bin_of, have_peers, run_peer
from store_peers import Server, free_port

FLAGS = ["--task", "clm", "--model_name_or_path", "model", "--train_file", "train.jsonl", "--validation_file", "validation.jsonl",
         "--do_train", "--do_eval", "--packing", "--block_size", "32", "--per_device_train_batch_size", "2", "--max_steps", "6",
         "--logging_steps", "1", "--eval_strategy", "steps", "--eval_steps", "3", "--save_steps", "2", "--threads", "2",
         "--report_to", "tensorboard", "--histogram_steps", "2"]
# By name: the flags in which it differs, and how it ends.
RUNS = {"one": (["--learning_rate", "0.01", "--profile_steps", "1:3"], 0),
        "sums": (["--learning_rate", "0.02", "--gradient_accumulation_steps", "2"], 0),
        "fails": (["--learning_rate", "0.03", "--metric_for_best_model", "f1"], 1)}

# What a reader of TensorBoard's package finds in the event file of a run.
EVENTS = r'''
import json, os, struct, sys
import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

run, logs = sys.argv[1:]
events = EventAccumulator(logs, size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
events.Reload()
tags = events.Tags()

# Every number of the log, under Transformers' tags, at its step.
want = {}
for entry in json.load(open(os.path.join(run, "trainer_state.json")))["log_history"]:
    for key, value in entry.items():
        if key != "step" and isinstance(value, (int, float)):
            tag = "eval/" + key[5:] if key.startswith("eval_") else "eval/" + key if key == "perplexity" else "train/" + key
            want.setdefault(tag, []).append((entry["step"], struct.unpack("f", struct.pack("f", value))[0]))
found = {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in tags["scalars"] if not tag.startswith("system/")}
assert found == want, (found, want)
assert len(want["train/loss"]) == 6 and len(want["eval/loss"]) >= 2, want
cpu, memory = (events.Scalars("system/" + name) for name in ("cpu_utilization", "process_memory_bytes"))
assert [e.step for e in cpu] == [1, 2, 3, 4, 5, 6] and all(0 <= e.value <= 1 for e in cpu), cpu
assert all(1e6 < e.value < 1e12 for e in memory), memory

args = json.loads(tensor_util.make_ndarray(events.Tensors("args/text_summary")[0].tensor_proto)[0])
assert args["max_steps"] == 6 and args["report_to"] == ["tensorboard"], args

# Histograms: the weights of each checkpoint, counted as TensorFlow's Histogram does.
def weights(folder):
    with open(os.path.join(folder, "model.safetensors"), "rb") as f:
        (size,) = struct.unpack("<Q", f.read(8))
        head, data = json.loads(f.read(size)), f.read()
    for name, t in head.items():
        if name != "__metadata__":
            assert t["dtype"] == "F32", t
            yield name, np.frombuffer(data[slice(*t["data_offsets"])], np.float32)

limits = [1e-12]
while limits[-1] * 1.1 < 1e20:
    limits.append(limits[-1] * 1.1)
limits.append(sys.float_info.max)
limits = np.array([-x for x in reversed(limits)] + [0.0] + limits)
seen = set()
for step in 2, 4, 6:
    for name, values in weights(os.path.join(run, f"checkpoint-{step}")):
        (at,) = [e for e in events.Histograms("weights/" + name) if e.step == step]
        h, exact = at.histogram_value, values.astype(np.float64)
        seen.add("weights/" + name)
        assert (h.min, h.max, h.num) == (exact.min(), exact.max(), exact.size), (name, h)
        assert np.allclose([h.sum, h.sum_squares], [exact.sum(), (exact * exact).sum()], rtol=1e-9, atol=1e-9), (name, h)
        counts = np.bincount(np.searchsorted(limits, exact, side="right"), minlength=limits.size)
        want = [(l, c) for l, c in zip(limits, counts) if c]
        got = [(l, c) for l, c in zip(h.bucket_limit, h.bucket) if c]
        assert [c for _, c in want] == [c for _, c in got], name
        assert np.allclose([l for l, _ in want], [l for l, _ in got], rtol=1e-12), name
assert seen == set(tags["histograms"]) and len(seen) > 20, (seen, tags["histograms"])

graph = events.Graph()
names = [n.name for n in graph.node]
assert len(names) == len(set(names)) > 100, len(names)
for n in graph.node:
    for i in n.input:
        assert i.split(":")[0] in set(names), (n.name, i)
tops = {n.split("/")[0] for n in names}
assert tops >= {"forward", "backward", "update", "inputs", "weights", "moments"}, tops
assert {"weights/" + t for t in (s[8:].replace(".", "/") for s in seen)} <= set(names)
wte = next(n for n in graph.node if n.name.startswith("weights/") and n.name.endswith("wte/weight"))
assert [d.size for d in wte.attr["shape"].shape.dim] == [657, 16] and wte.attr["dtype"].type == 1, wte
print(f"{logs}: {len(found)} scalars, {len(seen)} histograms, a graph of {len(names)} nodes")
'''

# The same by HTTP, as the pages of TensorBoard ask for it.
SERVER = r'''
import gzip, json, struct, sys, time, urllib.parse, urllib.request

here = f"http://127.0.0.1:{sys.argv[1]}"
open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open

def get(path, body=None, **query):
    url = f"{here}/data/{path}?{urllib.parse.urlencode(query)}"
    data = json.dumps(body).encode() if body is not None else None
    got = open_url(urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {}), timeout=60).read()
    return gzip.decompress(got) if got[:2] == b"\x1f\x8b" else got

def history(run):
    return json.load(open(f"{run}/trainer_state.json"))["log_history"]

def as_float(x):
    return struct.unpack("f", struct.pack("f", x))[0]

runs = sorted(json.loads(get("runs")))
assert runs == ["fails", "one", "sums"], runs
for run in "one", "sums":
    loss = json.loads(get("plugin/scalars/scalars", run=run, tag="train/loss"))
    assert [(s, v) for _, s, v in loss] == [(e["step"], as_float(e["loss"])) for e in history(run) if "loss" in e], loss
    tags = json.loads(get("plugin/histograms/tags"))[run]
    tag = next(t for t in tags if t.endswith("wte.weight"))
    for _, step, buckets in json.loads(get("plugin/histograms/histograms", run=run, tag=tag)):
        assert sum(b[2] for b in buckets) == 657 * 16, buckets
    graph = get("plugin/graphs/graph", run=run, conceptual="false", limit_attr_size=1024, large_attrs_key="_too_large_attrs").decode()
    assert "weights/" in graph and graph.count("node {") > 100, graph[:1000]
    text = json.loads(get("plugin/text/text", run=run, tag="args/text_summary"))
    assert "learning_rate" in text[0]["text"], text

ask = {"experimentName": "", "allowedStatuses": ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"],
       "colParams": [{"metric": {"tag": "train/loss"}, "includeInResult": True}, {"metric": {"tag": "eval/loss"}, "includeInResult": True},
                     {"hparam": "learning_rate", "includeInResult": True}], "startIndex": 0, "sliceSize": 100,
       "includeMetrics": True}
experiment = json.loads(get("plugin/hparams/experiment", {"experimentName": "", "includeMetrics": True}))
infos = {i["name"]: i["type"] for i in experiment["hparamInfos"]}
assert infos["learning_rate"] == "DATA_TYPE_FLOAT64" and infos["do_train"] == "DATA_TYPE_BOOL" and infos["optim"] == "DATA_TYPE_STRING", infos
metrics = [m["name"]["tag"] for m in experiment["metricInfos"]]
assert metrics[:2] == ["train/loss", "eval/loss"], metrics
groups = {g["sessions"][0]["name"]: g for g in json.loads(get("plugin/hparams/session_groups", ask))["sessionGroups"]}
assert sorted(groups) == runs, sorted(groups)
assert len({g["name"] for g in groups.values()}) == 3, groups
for run, rate in ("one", 0.01), ("sums", 0.02), ("fails", 0.03):
    session, = groups[run]["sessions"]
    assert groups[run]["hparams"]["learning_rate"] == rate, groups[run]["hparams"]
    assert session["status"] == ("STATUS_FAILURE" if run == "fails" else "STATUS_SUCCESS"), session
    assert session["startTimeSecs"] < session["endTimeSecs"] < time.time(), session
for run in "one", "sums":
    values = {m["name"]["tag"]: m for m in groups[run]["sessions"][0]["metricValues"]}
    for tag, key in ("train/loss", "loss"), ("eval/loss", "eval_loss"):
        last = [e for e in history(run) if key in e][-1]
        assert values[tag]["value"] == as_float(last[key]), (values, last)
print("server: scalars, histograms, text, graphs, hparams")

profile, = [r for r in json.loads(get("plugin/profile/runs"))]
assert profile.startswith("one/"), profile
tools = json.loads(get("plugin/profile/run_tools", run=profile))
assert any(t.startswith("overview_page") for t in tools) and any(t.startswith("trace_viewer") for t in tools), tools
hosts = json.loads(get("plugin/profile/hosts", run=profile, tag="overview_page"))
host = hosts[0]["hostname"]
overview = get("plugin/profile/data", run=profile, tag="overview_page", host=host)
assert b"cols" in overview, overview[:500]
trace = get("plugin/profile/data", run=profile, tag=next(t for t in tools if t.startswith("trace_viewer")), host=host)
assert b"linear" in trace, trace[:500]
print(f"xprof: {', '.join(tools)}")
'''


def in_folder(about, check):
    """The flags of a test with TensorBoard, and check(hone, folder, environment) in a new folder: the exit status."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    if not have_peers(options.install):
        return 77
    environment = {**os.environ, "no_proxy": "127.0.0.1,localhost"}
    folder = tempfile.mkdtemp(prefix="hone_tensorboard_")
    try:
        check(os.path.abspath(options.hone), folder, environment)
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def tensorboard(folder, environment):
    """A context with TensorBoard over the folder's logs: its port. It answers when it has read the event files once."""
    port = free_port()
    with Server([bin_of("tensorboard"), "--logdir", os.path.join(folder, "logs"), "--host", "127.0.0.1", "--port", str(port),
                 "--load_fast=false", "--reload_multifile=true"], port, environment):
        yield port


def check(hone, folder, environment):
    prepare(folder)
    for name, (more, ends) in RUNS.items():
        done = subprocess.run([hone, "train", *FLAGS, *more, "--output_dir", name, "--logging_dir", f"logs/{name}"],
                              cwd=folder, capture_output=True, text=True, timeout=300)
        if (done.returncode != 0) != bool(ends):
            sys.exit(f"{name}: hone train ended with {done.returncode}\n{done.stderr[-4000:]}")
        if done.stderr.count("\ntensorboard ") != 1:
            sys.exit(f"{name}: the log does not name the event file once\n{done.stderr[-4000:]}")
    for name, (_, ends) in RUNS.items():
        if not ends:
            run_peer(EVENTS, folder, environment, name, f"logs/{name}")
    with tensorboard(folder, environment) as port:
        wait_for_runs(port, bin_of("python"), environment)
        run_peer(SERVER, folder, environment, str(port))


def wait_for_runs(port, python, environment):
    """Until the server has read all runs."""
    ask = f"""
import json, sys, time, urllib.request
get = urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open
for _ in range(240):
    with get("http://127.0.0.1:{port}/data/runs", timeout=30) as f:
        runs = json.load(f)
    with get("http://127.0.0.1:{port}/data/plugin/hparams/experiment?request=%7B%22experimentName%22%3A%22%22%7D", timeout=30) as f:
        if len(runs) == {len(RUNS)} and json.load(f).get("hparamInfos"):
            time.sleep(3)
            sys.exit(0)
    time.sleep(0.5)
sys.exit("the server does not list the runs: %s" % runs)
"""
    subprocess.run([python, "-c", ask], env=environment, check=True)


if __name__ == "__main__":
    sys.exit(in_folder(__doc__, check))
