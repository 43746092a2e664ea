"""What the paired benchmarks share: the peer process, the probe beside each sample, pairs, tables, results."""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = pathlib.Path(os.environ.get("HONE_BENCH_FILES", ROOT / "build" / "bench"))
THREADS = 2
PROBE_SPREAD = 1.05  # Clocks drift: a pair counts only if the probes before, between and after agree this well.


def arguments(description, **defaults):
    """The flags of every benchmark; the caller adds its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--hone", default=str(ROOT / "build" / "hone"), help="the program to measure")
    parser.add_argument("--pairs", type=int, default=defaults.get("pairs", 5), help="counted pairs of samples")
    parser.add_argument("--retakes", type=int, default=5, help="pairs taken again at most because probes disagreed")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda: one GPU on both sides")
    parser.add_argument("--only", choices=["peer", "hone"], help="measure one side alone, without pairs")
    parser.add_argument("--tiny", action="store_true", help="a tiny model: shows that the benchmark itself works")
    parser.add_argument("--write", action="store_true", help="keep the results under bench/results")
    return parser


def limit_threads(device="cpu"):
    """Both sides run on the same two processors: children inherit the affinity and these variables. Not beside a GPU."""
    if device != "cpu":
        return
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(THREADS)
    os.environ["TOKENIZERS_PARALLELISM"] = "true"


class Answering:
    """A Python script as a process of its own: it loads once, then answers requests one by one, each a line of JSON."""

    def __init__(self, script, *options, before=(), environment=None):
        self.process = subprocess.Popen([*before, sys.executable, str(script), *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})

    def answer(self, request):
        self.tell(request)
        return self.hear()

    def tell(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args}: the peer ended with status {self.process.wait()}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Peer(Answering):
    """bench/peer.py, which sleeps between requests."""

    def __init__(self, *options):
        super().__init__(ROOT / "bench" / "peer.py", *options)
        self.ask("ready")

    def ask(self, what, **more):
        return self.answer(dict(do=what, **more))


def child(command, log=None):
    """Runs a program; returns its output, seconds and peak resident bytes. A failure ends all and says why. What it says
    on standard error goes to the list `log`."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    errors = []
    drain = threading.Thread(target=lambda: errors.append(process.stderr.read()))
    drain.start()
    process.stdin.close()
    output = process.stdout.read().decode()
    drain.join()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\nended with status {process.returncode}:\n"
                         + errors[0].decode()[-2000:])
    if log is not None:
        log.append(errors[0].decode())
    return output, seconds, usage.ru_maxrss * 1024


def own_peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def pairs(wanted, retakes, probe, first, second, report=print):
    """Interleaved samples: probe, A, probe, B, probe. Pairs whose probes differ by more than 5 % are taken again."""
    kept, dropped = [], 0
    while len(kept) < wanted:
        probes = [probe()]
        a = first()
        probes.append(probe())
        b = second()
        probes.append(probe())
        spread = max(probes) / min(probes)
        taken = spread <= PROBE_SPREAD or dropped >= retakes
        report(f"  pair {len(kept) + 1}: peer {a['seconds']:.3f} s, hone {b['seconds']:.3f} s, probes "
               + " ".join(f"{p:.0f}" for p in probes) + " GFLOP/s"
               + ("" if spread <= PROBE_SPREAD else ", drifting: " + ("kept" if taken else "taken again")))
        if taken:
            kept.append(dict(peer=a, hone=b, probes=probes, steady=spread <= PROBE_SPREAD))
        else:
            dropped += 1
    return kept, dropped


def summary(kept):
    """Medians of both sides and of the ratio peer / hone within each pair (above 1: hone is faster)."""
    return dict(peer_seconds=statistics.median(p["peer"]["seconds"] for p in kept),
                hone_seconds=statistics.median(p["hone"]["seconds"] for p in kept),
                speedup=statistics.median(p["peer"]["seconds"] / p["hone"]["seconds"] for p in kept),
                probe_gflops=statistics.median(g for p in kept for g in p["probes"]),
                steady_pairs=sum(p["steady"] for p in kept))


def table(rows):
    """Markdown, one dictionary a row."""
    keys = list(rows[0])
    lines = ["| " + " | ".join(keys) + " |", "|" + "---|" * len(keys)]
    lines += ["| " + " | ".join(str(row.get(key, "")) for key in keys) + " |" for row in rows]
    return "\n".join(lines)


def device_peak(options, said, resident):
    """Peak bytes of hone: on a GPU what it holds there, context and libraries of both sides apart."""
    return resident if options.device == "cpu" else said["planned_device_bytes"]


def gpu():
    """The name of the GPU that is measured, as its driver says it; "" without one."""
    found = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True,
                           check=False) if shutil.which("nvidia-smi") else None
    return found.stdout.splitlines()[0].strip() if found and found.returncode == 0 and found.stdout else ""


def machine():
    """The kind of machine, without its name."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.*)", text)
    flags = set(re.search(r"flags\s*:\s*(.*)", text).group(1).split()) if "flags" in text else set()
    isa = [name for name in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if name in flags]
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1)) / 2**20
    return dict(processor=model.group(1).strip() if model else platform.machine(), isa=isa,
                processors=os.cpu_count(), threads=THREADS, memory_gib=round(memory, 1), system=platform.platform())


def machine_kind(device="cpu"):
    here = machine()
    if device != "cpu":
        return re.sub(r"[^a-z0-9]+", "-", gpu().lower()).strip("-")
    name = re.sub(r"[^a-z0-9]+", "-", here["processor"].lower()).strip("-")
    return f"{name}-{here['processors']}x-{here['isa'][-1] if here['isa'] else 'plain'}"


def finish(name, rows, details, options):
    """Prints the table; with --write, keeps it as bench/results/<date>-<machine kind>.md and .json, unless it is of a
    tiny model or of one side."""
    text = f"## {name}\n\n{table(rows)}\n"
    print("\n" + text)
    if not options.write or options.tiny or options.only:
        return
    folder = ROOT / "bench" / "results"
    folder.mkdir(exist_ok=True)
    stem = f"{datetime.date.today()}-{machine_kind(options.device)}"
    page, data = folder / f"{stem}.md", folder / f"{stem}.json"
    known = json.loads(data.read_text()) if data.exists() else dict(machine=machine(), results={})
    known["results"][name] = dict(rows=rows, details=details)
    data.write_text(json.dumps(known, indent=1) + "\n")
    here = known["machine"]
    on = here["processor"] if options.device == "cpu" else gpu() + ", " + here["processor"]
    head = (f"# {datetime.date.today()}, {on}, {here['threads']} threads\n\n"
            f"{' '.join(here['isa'])}; {here['memory_gib']} GiB; {here['system']}.\n"
            f"Both sides in one run, interleaved; medians of pairs; `make bench` makes this page again.\n\n")
    parts = [f"## {key}\n\n{table(value['rows'])}\n" for key, value in known["results"].items()]
    page.write_text(head + "\n".join(parts))
    print(f"kept in {page.relative_to(ROOT)} and .json")
