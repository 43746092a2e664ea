"""The sides of bench/ranks.py: each is asked for a sample, a few optimizer steps on several ranks.

A sample is {"seconds", the median of a step after the first; "loss", of all steps; "memory", the most anonymous bytes of
one process; "sent", bytes that a rank, or without hosts all ranks, sent in a step; 0 where it was not counted}.
"""
import json
import os
import pathlib
import secrets
import socket
import statistics
import subprocess
import tempfile
import threading

import common
from two_hosts import ADDRESSES, interface_bytes

LEARNING_RATE = 5e-5
RANKS = 2


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Watch:
    """A context that samples what processes and their children have of memory."""

    def __init__(self, pids):
        self.pids, self.peak, self.ends = pids, 0, threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()

    def look(self):
        while True:
            for pid in self.pids:
                self.peak = max([self.peak, *map(anonymous_bytes, family(pid))])
            if self.ends.wait(0.05):
                return


def family(pid):
    """A process and all that descend from it."""
    found = [pid]
    for one in found:
        for path in pathlib.Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, path.read_text().split())
            except OSError:
                pass  # It has ended.
    return found


def anonymous_bytes(pid):
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # It has ended.
    return 0


class PeerSide:
    """PyTorch's DDP or FSDP, as processes that stay warm: the first sample is of all steps, the others of those after
    the first."""

    def __init__(self, case, kind, hosts=None):
        self.case, self.hosts, self.fresh = case, hosts, True
        self.place = tempfile.TemporaryDirectory(dir=common.FILES)
        self.ranks = [common.Answering(
            common.ROOT / "bench" / "ranks_peer.py", os.path.join(self.place.name, "store"), str(rank), str(RANKS),
            before=hosts.on(rank) if hosts else (), environment=dict(
                OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", GLOO_SOCKET_IFNAME="cable" if hosts else "lo"))
            for rank in range(RANKS)]
        self.ask([dict(do="load", folder=str(case.folder), kind=kind)] * RANKS)

    def ask(self, requests):
        for one, request in zip(self.ranks, requests):
            one.tell(request)
        return [one.hear() for one in self.ranks]

    def sample(self):
        first = 0 if self.fresh else 1
        self.fresh = False
        with Watch([one.process.pid for one in self.ranks]) as watch:
            said = self.ask([dict(do="train", batches=[[step[rank]] for step in self.case.batches[first:]],
                                  learning_rate=LEARNING_RATE) for rank in range(RANKS)])
        steps = slice(1 - first, None)
        return dict(seconds=statistics.median(said[0]["step_seconds"][steps]), loss=said[0]["loss"], memory=watch.peak,
                    sent=max(statistics.median(one["sent_bytes"][steps]) for one in said))

    def close(self):
        for one in self.ranks:  # All are told first: a rank may wait for the others at its end.
            one.process.stdin.close()
        for one in self.ranks:
            one.process.wait()
        self.place.cleanup()


class HoneSide:
    """hone train, started for each sample: as ranks on this machine or on two hosts, or as one process."""

    def __init__(self, options, case, ranks=RANKS, threads=1, zero_stage=0, hosts=None):
        self.options, self.case, self.ranks, self.threads, self.hosts = options, case, ranks, threads, hosts
        self.zero = ["--zero_stage", str(zero_stage)] if zero_stage else []
        self.start_bytes = None

    def train(self, steps, output):
        return ["train", "--model_name_or_path", str(self.case.folder), *self.case.flags, "--do_train", "--no_shuffle",
                "--max_steps", str(steps), "--per_device_train_batch_size", str(self.case.rows // self.ranks),
                "--learning_rate", str(LEARNING_RATE), "--lr_scheduler_type", "constant", "--weight_decay", "0.01",
                "--logging_steps", "1", "--save_strategy", "no", "--threads", str(self.threads), "--output_dir", output,
                *self.zero]

    def commands(self, train):
        """The processes to start; host by host if there are hosts."""
        hone = [self.options.hone]
        if self.ranks == 1:
            return [hone + train]
        launch = hone + ["launch", "--num_processes", str(self.ranks)]
        if not self.hosts:
            return [launch + ["--", *train]]
        launch += ["--num_machines", "2", "--main_process_ip", ADDRESSES[0], "--main_process_port", str(free_port())]
        return [self.hosts.on(host) + launch + ["--machine_rank", str(host), "--", *train] for host in range(2)]

    def sent(self):
        return max(map(self.hosts.sent_bytes, range(2))) if self.hosts else interface_bytes("lo")

    def run(self, steps):
        """The log lines of a run, its memory and the bytes that it sent in all."""
        with tempfile.TemporaryDirectory(dir=common.FILES) as output:
            environment = {**os.environ, "HONE_RANKS_TOKEN": secrets.token_hex(16), "OMP_NUM_THREADS": str(self.threads)}
            before = self.sent()
            processes = [subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                          stderr=subprocess.PIPE, text=True)
                         for command in self.commands(self.train(steps, output))]
            with Watch([process.pid for process in processes]) as watch:
                errors = [process.communicate()[1] for process in processes]
            for process, text in zip(processes, errors):
                if process.returncode:
                    raise SystemExit(f"{' '.join(process.args)}\nended with status {process.returncode}:\n{text[-3000:]}")
            return logged_steps(output), watch.peak, self.sent() - before

    def sample(self):
        steps = len(self.case.batches)
        if self.ranks > 1 and self.start_bytes is None:
            self.start_bytes = self.run(1)[2]  # What the start, the first step and the end send.
        lines, memory, sent = self.run(steps)
        ends = [line["progress"]["seconds"] for line in lines]
        return dict(seconds=statistics.median(b - a for a, b in zip(ends, ends[1:])), memory=memory,
                    loss=[line["metrics"]["loss"] for line in lines],
                    sent=(sent - self.start_bytes) / (steps - 1) if self.ranks > 1 else 0)

    def close(self):
        pass


def logged_steps(output):
    with open(pathlib.Path(output) / "hone_log.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [line for line in lines if line.get("event") == "log" and "loss" in line["metrics"]]


class ApartSide:
    """Processes of hone at a time that know nothing of each other, each with the rows of one rank: what a step computes
    when nothing is sent."""

    def __init__(self, options, case, ranks=RANKS):
        self.sides = [HoneSide(options, case.of_rank(ranks), ranks=1) for _ in range(ranks)]

    def sample(self):
        said = [None] * len(self.sides)
        threads = [threading.Thread(target=lambda i=i: said.__setitem__(i, self.sides[i].sample()))
                   for i in range(len(said))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return dict(max(said, key=lambda s: s["seconds"]), loss=None)

    def close(self):
        pass
