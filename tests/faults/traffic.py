#!/usr/bin/env python3
"""Bytes that ranks send, by the kernel's counters, against those of `hone plan`, in each stage of ZeRO, in groups of ranks and on meshes.

    tests/faults/traffic.py --hone build/hone

All ranks are in a network namespace of their own, so that nobody else uses its loopback interface. A step's bytes are the
difference between a long run and a short one. What the kernel counts has headers: 66 bytes in each packet (Ethernet, IPv4,
TCP with timestamps), which are taken off; an acknowledgement then has no bytes. The memory of the run is compared too.
Needs root and the command ip; skips (77) elsewhere.
"""
import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from checks import Fault, demand  # noqa: E402

TOKENIZER = os.path.join(SOURCE, "tests", "goldens", "tiny_text_gpt2")
HEADERS = 66
SHORT, LONG = 4, 24  # steps
BOUND = 0.01
TRIES = 10
RANKS = 2
ROWS = 8  # of a rank; Gloo's own header of a message is then small beside what is sent along the axis tensor
GROUPS = "groups of 2"
MESHES = [("", 2, stage) for stage in range(4)] + [("tensor=2", 2, 0), ("data=2,tensor=2", 4, 0), ("data=2,tensor=2", 4, 3),
                                                   (GROUPS, 4, 1), (GROUPS, 4, 3)]
CONFIG = {"model_type": "gpt2", "n_embd": 128, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": 704,
          "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}


def missing():
    """The reason why no network namespace can be made here; "" if one can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip"):
        return "there is no ip: apt-get install iproute2"
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"network namespaces do not work here: {tried.stderr.strip()}"


class Namespace:
    """A context: a network with a loopback interface alone. It loses nothing, but packets change their order between
    processors and acknowledgements come late, which TCP may take for a loss: it sends bytes again, here seldom. (Without
    quickack a sender of such a network waits 40 ms for most acknowledgements, and a step takes 30 times as long.)"""

    def __init__(self):
        self.name = f"hone{os.getpid()}traffic"

    def __enter__(self):
        subprocess.run(["ip", "netns", "add", self.name], check=True)
        subprocess.run(["ip", "-n", self.name, "link", "set", "lo", "up"], check=True)
        for own in ("127.0.0.0/8", "127.0.0.1"):
            route = ["local", own, "dev", "lo", "proto", "kernel", "scope", "host", "src", "127.0.0.1", "rto_min", "60s",
                     "quickack", "1"]
            subprocess.run(["ip", "-n", self.name, "route", "change", "table", "local", *route], check=True)
        for patience in ("early_retrans=0", "sack=0", "recovery=0", "max_reordering=10000", "reordering=10000"):
            self.run(["sysctl", "-qw", "net.ipv4.tcp_" + patience], "/")
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "del", self.name], check=False)

    def run(self, command, folder):
        return subprocess.run(["ip", "netns", "exec", self.name, *command], cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "HONE_RANKS_TOKEN": secrets.token_hex(16)})

    def sent(self):
        """Bytes of TCP that the loopback interface has carried."""
        text = self.run(["cat", "/proc/net/dev"], "/").stdout
        fields = next(line for line in text.splitlines() if line.split(":")[0].strip() == "lo").split(":")[1].split()
        received_bytes, received_packets, sent_bytes, sent_packets = (int(fields[i]) for i in (0, 1, 8, 9))
        demand((received_bytes, received_packets) == (sent_bytes, sent_packets), f"lo loses packets:\n{text}")
        return sent_bytes - HEADERS * sent_packets

    def sent_again(self):
        """Segments that TCP took for lost."""
        text = self.run(["cat", "/proc/net/snmp"], "/").stdout
        names, values = [line.split() for line in text.splitlines() if line.startswith("Tcp:")]
        return int(values[names.index("RetransSegs")])


def flags(steps, mesh, stage, output):
    axes = ["--mics_shard_size", "2"] if mesh == GROUPS else ["--mesh", mesh] if mesh else []
    return [*axes, "--task", "clm", "--config_name", "config.json", "--tokenizer_name", TOKENIZER,
            "--train_file", "rows.txt",
            "--validation_split_percentage", "0", "--do_train", "--block_size", "32", "--per_device_train_batch_size", str(ROWS),
            "--max_steps", str(steps), "--zero_stage", str(stage), "--save_strategy", "no", "--threads", "1",
            "--offload_persistence_threshold", "0", "--output_dir", output]


def json_of(done):
    demand(done.returncode == 0, f"{' '.join(done.args)}\nended with status {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def counted(network, hone, folder, mesh, ranks, stage):
    """Bytes of a step of all ranks, and the memory that the run planned on rank 0."""
    all_sent, memory = {}, 0
    for steps in (SHORT, LONG):
        output = f"{mesh}stage{stage}_{steps}"
        for _ in range(TRIES):
            shutil.rmtree(os.path.join(folder, output), ignore_errors=True)  # a second run starts again
            before, sent_again = network.sent(), network.sent_again()
            done = network.run([hone, "launch", "--num_processes", str(ranks), "--", "train", *flags(steps, mesh, stage, output)],
                               folder)
            demand(done.returncode == 0, f"stage {stage} ended with status {done.returncode}:\n{done.stderr}")
            all_sent[steps] = network.sent() - before
            if network.sent_again() == sent_again:
                break
        else:
            raise Fault(f"TCP sent bytes again in each of {TRIES} runs of {steps} steps")
        with open(os.path.join(folder, output, "train_results.json"), encoding="utf-8") as file:
            memory = json.load(file)["memory_planned_bytes"]
    return (all_sent[LONG] - all_sent[SHORT]) / (LONG - SHORT), memory


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    options = parser.parse_args()
    if reason := missing():
        print(f"skipped: {reason}")
        return 77
    hone, wrong, states = os.path.abspath(options.hone), 0, {}
    with tempfile.TemporaryDirectory(prefix="hone_traffic_") as folder, Namespace() as network:
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(CONFIG, file)
        with open(os.path.join(folder, "rows.txt"), "w", encoding="utf-8") as file:
            file.write("the men of the village took to their boats when the river rose.\n" * 400)
        for mesh, ranks, stage in MESHES:
            try:
                plan = json_of(network.run([hone, "plan", *flags(LONG, mesh, stage, "out"), "--device", f"{ranks}xcpu", "--json"],
                                           folder))
                states.setdefault(stage, plan["bytes"]["device"])
                planned = ranks * plan["sent_in_machine_bytes"]
                sent, memory = counted(network, hone, folder, mesh, ranks, stage)
                if sent > planned * (1 + BOUND):  # heartbeats of steps that took long
                    sent, memory = counted(network, hone, folder, mesh, ranks, stage)
                demand(abs(sent / planned - 1) <= BOUND,
                       f"{sent:.0f} bytes a step, {planned:.0f} planned")
                demand(memory == plan["peak_bytes"]["device"],
                       f"the run has {memory} bytes, {plan['peak_bytes']['device']} are planned")
                axes = f", {ranks * plan['sent_along_tensor_bytes']:.0f} along tensor" if "tensor" in mesh else ""
                print(f"{mesh} stage {stage}: {sent:.0f} bytes a step, {sent / planned:.4f} of the planned{axes}; memory {memory}",
                      flush=True)
            except Fault as fault:
                wrong += 1
                print(f"{mesh} stage {stage}: {fault}", flush=True)
        for stage, what in ((1, "moments"), (2, "moments"), (3, "moments"), (3, "params")):
            share = states[stage][what] / states[0][what] * RANKS
            print(f"stage {stage}: {what} {share:.3f} of 1/{RANKS}", flush=True)
            wrong += abs(share - 1) > 0.02
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
