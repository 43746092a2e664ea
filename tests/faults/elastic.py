#!/usr/bin/env python3
# nightly: --all
"""A run whose ranks its launcher starts again: whatever dies, is cut off or full, the run ends with the bits of one that was not
disturbed, and a line names the culprit.

    tests/faults/elastic.py --hone build/hone [--all] [--seed N] [--kills N] [TEST...]

Each test starts `hone launch --max_restarts ... -- train ...` and disturbs its ranks: kill -9, SIGSTOP, a full disk, and in network
namespaces cut links and links that lose large packets. --kills is the number of kills at random moments of start, steps, evaluation
and saving. Tests that need root and `ip` say so and are left out without them. Without --all short waits and few kills.
"""
import argparse
import glob
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import placement_bits
from placement_bits import SOURCE
from ranks import Fault, Skipped, World, chosen_tests, close, demand, run_tests, with_flags
from checks import free_port, processes  # ranks names its folder

PATIENCE = 180 * float(os.environ.get("HONE_TIMES_SLOWER", 1))  # seconds until a run counts as hung
NAMESPACES = ("hone_e0", "hone_e1")
MOST_TRIES = 5  # of a run, to meet it while a copy is begun and not ended
NO_COPY_MET = f"no copy was begun and not ended while rank 1 stood still, in {MOST_TRIES} runs"


class Launched:
    """A run of `hone launch`, whose ranks are disturbed."""

    def __init__(self, w, argv, launch, name="launch", environment=None, before=()):
        self.log_path = w.path(name + ".log")
        self.log_file = open(self.log_path, "w")
        self.process = subprocess.Popen([*before, w.hone, "launch", *launch, "--", *argv[1:]], cwd=w.folder, stdin=subprocess.DEVNULL,
                                        stdout=self.log_file, stderr=self.log_file, env={**os.environ, **(environment or {})})
        self.end = time.time() + PATIENCE

    def log(self):
        with open(self.log_path) as f:
            return f.read()

    def ranks(self):
        """Process numbers by rank."""
        return {int(variables["RANK"]): pid for pid, variables, words in processes(self.descendants(self.process.pid))
                if "RANK" in variables and "train" in words}

    @staticmethod
    def descendants(pid):
        children = []
        for path in glob.glob(f"/proc/{pid}/task/*/children"):
            try:
                with open(path) as f:
                    children += [int(word) for word in f.read().split()]
            except OSError:
                pass
        return children + [deeper for child in children for deeper in Launched.descendants(child)]

    def ended(self):
        if time.time() > self.end:
            log = self.log()
            self.kill()
            raise Fault(f"the run hangs:\n{log[-6000:]}")
        return self.process.poll() is not None

    def kill(self):
        for pid in self.descendants(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.process.kill()
        self.process.wait()

    def until(self, text, seconds=PATIENCE):
        end = time.time() + seconds
        while not re.search(text, self.log()):
            demand(not self.ended() and time.time() < end, f"no line '{text}' within {seconds} s:\n{self.log()[-6000:]}")
            time.sleep(0.005)

    def until_rank(self, rank):
        while rank not in self.ranks():
            demand(not self.ended(), f"rank {rank} is not started:\n{self.log()[-6000:]}")
            time.sleep(0.005)
        return self.ranks()[rank]

    def wait(self, status=0):
        while not self.ended():
            time.sleep(0.01)
        demand(self.process.returncode == status, f"status {self.process.returncode}, not {status}:\n{self.log()[-6000:]}")


def training(w, out, ranks, *more):
    argv = w.command("gpt2", out, ranks, "--save_steps", "4", "--max_steps", "24", "--validation_split_percentage", "20", "--eval_strategy",
                     "steps", "--eval_steps", "3", "--save_total_limit", "2", "--threads", "1")
    return with_flags(argv, more)


def undisturbed(w, ranks, *more):
    w.run(ranks, training(w, "whole", ranks, *more))
    bits = w.losses("whole"), w.all_weights("whole")
    shutil.rmtree(w.path("whole"))
    return bits


def same_bits(w, out, wanted, what):
    demand((w.losses(out), w.all_weights(out)) == wanted, f"other bits than the undisturbed run: {what} (seed {w.seed})")


def needs_namespaces():
    made = os.geteuid() == 0 and shutil.which("ip") and shutil.which("tc")
    if not made or subprocess.run(["ip", "netns", "add", "hone_probe"], capture_output=True, check=False).returncode:
        raise Skipped("needs root, ip and network namespaces")
    subprocess.run(["ip", "netns", "del", "hone_probe"], check=False)


class Hosts:
    """Two network namespaces with links between them, number k with the addresses 10.78.k.1 and .2."""

    def __init__(self, links=1):
        needs_namespaces()
        self.remove()
        for name in NAMESPACES:
            self.ip("netns", "add", name)
            self.inside(name, "ip", "link", "set", "lo", "up")
        for k in range(1, links + 1):
            self.ip("link", "add", f"link{k}", "netns", NAMESPACES[0], "type", "veth", "peer", "name", f"link{k}", "netns", NAMESPACES[1])
            for last, name in enumerate(NAMESPACES, 1):
                self.inside(name, "ip", "addr", "add", f"10.78.{k}.{last}/24", "dev", f"link{k}")
                self.inside(name, "ip", "link", "set", f"link{k}", "up")

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    @staticmethod
    def inside(name, *words):
        subprocess.run(["ip", "netns", "exec", name, *words], check=True)

    def cut(self, link=1):
        self.inside(NAMESPACES[0], "ip", "link", "set", f"link{link}", "down")

    def join(self, link=1):
        self.inside(NAMESPACES[0], "ip", "link", "set", f"link{link}", "up")

    @staticmethod
    def remove():
        for name in NAMESPACES:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def start(self, w, argv, *launch):
        """A launcher on each."""
        port = 29000 + os.getpid() % 1000
        return [Launched(w, argv, ["--num_processes", "2", "--num_machines", "2", "--machine_rank", str(k), "--main_process_ip", "10.78.1.1",
                                   "--main_process_port", str(port), "--max_restarts", "20", *launch], f"launch{k}",
                         {"HONE_RANKS_TOKEN": "a token"}, ["ip", "netns", "exec", name]) for k, name in enumerate(NAMESPACES)]


def rule_8_random_kills_change_no_bit(w):
    """Ranks are killed at random moments of start, steps, evaluation and saving; the launcher starts the next membership."""
    rng = random.Random(w.seed)
    kinds = [(2, "1", "1"), (3, "3", "0"), (2, "0", "2")] if w.all else [(2, "1", "1")]
    wanted, kills, runs, begun = {}, 0, 0, time.time()
    while kills < w.kills:
        kind = ranks, stage, memory = kinds[runs % len(kinds)]
        more = ["--zero_stage", stage, "--memory_save_steps", memory]
        if kind not in wanted:
            wanted[kind] = undisturbed(w, ranks, *more)
        out, killed = f"killed{runs}", 0
        run = Launched(w, training(w, out, ranks, *more), ["--num_processes", str(ranks), "--max_restarts", "1000"])
        most = rng.randint(1, 6)
        while not run.ended() and killed < most and kills + killed < w.kills:
            time.sleep(rng.uniform(0.05, 1.5))
            alive = run.ranks()
            if not alive:
                continue
            rank = rng.choice(sorted(alive))
            try:
                os.kill(alive[rank], rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGBUS]))
            except ProcessLookupError:
                continue
            killed += 1
        run.wait()
        restarts = len(re.findall(r"failed first .*: restart \d+ of 1000", run.log()))
        # Several kills may end one membership, and the last one may come after the last step of a rank.
        demand(restarts >= (1 if killed > 1 else 0), f"{killed} kills, {restarts} restarts:\n{run.log()[-6000:]}")
        demand(killed == 0 or restarts == 0 or re.search(r"rank \d on host \S+ was ended by signal \d+", run.log()), run.log()[-6000:])
        same_bits(w, out, wanted[kind], f"{ranks} ranks, ZeRO {stage}, memory {memory}, {killed} kills\n{run.log()[-3000:]}")
        shutil.rmtree(w.path(out))
        kills += killed
        runs += 1
    demand(not glob.glob("/dev/shm/hone-run-*"), "a launcher left its memory")
    print(f"  {kills} kills in {runs} runs, {time.time() - begun:.0f} s", flush=True)


def nothing_is_lost_since_the_last_step(w):
    """The copies in memory have one of the last two steps, although no checkpoint was saved."""
    more = ["--save_steps", "1000", "--memory_save_steps", "1", "--zero_stage", "2", "--max_steps", "120"]
    wanted = undisturbed(w, 2, *more)
    run = Launched(w, training(w, "memory", 2, *more), ["--num_processes", "2", "--max_restarts", "3"])
    run.until(r"step 9/120")
    os.kill(run.ranks()[1], signal.SIGKILL)
    run.wait()
    found = re.search(r"continue +from /dev/shm/hone-run-\S+/checkpoint-(\d+) ", run.log())
    # A copy is written beside the next step: that of step 8 may not be whole yet on the rank that is killed.
    demand(found and int(found[1]) >= 7, f"{found and found[0]}\n{run.log()[:8000]}")
    demand(re.search(r"rank 1 on host \S+ failed first at step \d+.*signal 9 \(Killed\): restart 1 of 3", run.log()), run.log()[-6000:])
    same_bits(w, "memory", wanted, "a kill at step 9")

    for k in range(MOST_TRIES):
        out = f"copying{k}"
        run = Launched(w, training(w, out, 2, *more), ["--num_processes", "2", "--max_restarts", "3"])
        run.until(r"step 9/120")
        killed = kill_in_copy(run)
        run.wait()
        same_bits(w, out, wanted, "a kill while a copy is written")
        if killed:
            break
    demand(killed, NO_COPY_MET)
    demand(re.search(r"continue +from /dev/shm/hone-run-\S+/checkpoint-(\d+) ", run.log()), run.log()[-6000:])
    demand("takes no copy" not in run.log(), run.log()[-6000:])


def kill_in_copy(run):
    """Kills rank 1 when a copy in memory waits for it; whether it did before the run ended."""
    return stopped_in_copy(run, run.ranks().get(1), lambda: ["/dev/shm/hone-run-*/*"], lambda rank: os.kill(rank, signal.SIGKILL))


def stopped_in_copy(run, rank, folders, act):
    """Stops a rank again and again until a copy waits for it, then acts; whether it did before the run ended."""
    try:
        while rank and not run.ended():
            os.kill(rank, signal.SIGSTOP)
            time.sleep(0.1)
            if any(glob.glob(folder + "/checkpoint-*.tmp-*") for folder in folders()):
                act(rank)
                return True
            os.kill(rank, signal.SIGCONT)
            time.sleep(0.013)
    except ProcessLookupError:  # it ended meanwhile
        pass
    return False


class Machines:
    """Launchers that stand for machines: each has copies in memory of its own."""

    def __init__(self, w, out, argv, *launch, ranks=2):
        self.w, self.argv, self.ranks, self.port, self.started = w, argv, ranks, free_port(), 0
        self.out, self.launch = out, launch
        self.runs = [self.start(k) for k in (0, 1)]

    def start(self, machine):
        self.started += 1
        return Launched(self.w, self.argv, ["--num_processes", str(self.ranks), "--num_machines", "2", "--machine_rank", str(machine),
                                            "--main_process_ip", "127.0.0.1", "--main_process_port", str(self.port), "--max_restarts", "1000",
                                            *self.launch], f"{self.out}-{self.started}", {"HONE_RANKS_TOKEN": "a token"})

    def memory(self, machine):
        return glob.glob(f"/dev/shm/hone-run-*-{self.runs[machine].process.pid}-*")

    def lose(self, machine):
        """The machine is gone with its processes and its memory."""
        run, folders = self.runs[machine], self.memory(machine)
        demand(len(folders) == 1, f"folders in memory: {folders}")
        children = Launched.descendants(run.process.pid)
        for pid in [run.process.pid, *children]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        run.process.wait()
        shutil.rmtree(folders[0])

    def replace(self, machine):
        self.runs[machine] = self.start(machine)

    def wait(self):
        for run in self.runs:
            if run.process.returncode is None:
                run.wait()
        demand(not any(self.memory(k) for k in (0, 1)), "a launcher left its memory")

    def continued_from(self):
        """The step of the copy in memory from which the run continued."""
        found = re.search(r"continue +from (\S+)/checkpoint-(\d+) ", self.runs[0].log())
        demand(found and found[1].startswith("/dev/shm/hone-run-"), f"{found and found[0]}\n{self.runs[0].log()[-8000:]}")
        return int(found[2])


def a_lost_machine_loses_no_step(w):
    """A machine is lost with its part of the states (ZeRO): the run continues with a replacement from the memory of the other one."""
    more = ["--save_steps", "1000", "--memory_save_steps", "1", "--max_steps", "60"]
    for stage in ("3", "1") if w.all else ("3",):
        kind = ["--zero_stage", stage, *more]
        wanted = undisturbed(w, 2, *kind)
        machines = Machines(w, f"lost{stage}", training(w, f"lost{stage}", 2, *kind))
        machines.runs[0].until(r"step 9/60")
        machines.lose(1)
        machines.replace(1)
        machines.wait()
        # The copy of step 9 may not be whole yet, and that of step 8 not be known to be.
        demand(machines.continued_from() >= 7, machines.runs[0].log()[-6000:])
        same_bits(w, f"lost{stage}", wanted, "a lost machine")

    for k in range(MOST_TRIES):
        out = f"copying_to{k}"
        machines = Machines(w, out, training(w, out, 2, *kind))
        machines.runs[0].until(r"step 9/60")
        lost = lose_in_copy(machines)
        if lost:
            machines.replace(1)
        machines.wait()
        same_bits(w, out, wanted, "a machine that is lost while the other one copies from it")
        if lost:
            break
    demand(lost, NO_COPY_MET)
    demand(machines.continued_from() >= 7, machines.runs[0].log()[-6000:])


def lose_in_copy(machines):
    """Loses machine 1 while machine 0 copies a part from it; whether it did before the run ended."""
    return stopped_in_copy(machines.runs[0], machines.runs[1].until_rank(1),
                           lambda: [folder + "/*-1-of-2" for folder in machines.memory(0)], lambda _: machines.lose(1))


def a_machine_lost_at_any_moment_changes_no_bit(w):
    """Machine 1 is lost at random moments of start, steps, copies and evaluation, and replaced each time."""
    rng = random.Random(w.seed)
    kind = ["--save_steps", "10000", "--memory_save_steps", "1", "--max_steps", "500" if w.all else "60", "--zero_stage", "2"]
    wanted = undisturbed(w, 4, *kind)
    machines = Machines(w, "any", training(w, "any", 4, *kind), ranks=4)
    losses, end = 0, time.time() + 8 * PATIENCE
    for _ in range(30 if w.all else 4):
        time.sleep(rng.uniform(0.5, 4))
        machines.runs[0].end = end
        if machines.runs[0].ended() or not machines.memory(1):
            break
        machines.lose(1)
        machines.replace(1)
        losses += 1
    machines.runs[0].end = machines.runs[1].end = time.time() + PATIENCE
    machines.wait()
    same_bits(w, "any", wanted, f"{losses} losses of a machine\n{machines.runs[0].log()[-3000:]}")
    print(f"  {losses} losses", flush=True)


def a_run_shrinks_to_the_machine_whose_memory_has_all(w):
    """Without a replacement, with --min_ranks: one rank reads the parts of both, and --split_invariant keeps the bits."""
    if not w.all:
        raise Skipped("takes a minute: --all")
    kind = ["--zero_stage", "3", "--save_steps", "1000", "--memory_save_steps", "2", "--max_steps", "60", "--split_invariant", "2"]
    w.run(2, training(w, "whole", 2, *kind))
    machines = Machines(w, "shrunk", training(w, "shrunk", 2, *kind), "--min_ranks", "1")
    machines.runs[0].until(r"step 9/60")
    machines.lose(1)
    machines.wait()
    demand(machines.continued_from() >= 6, machines.runs[0].log()[-6000:])
    demand("1 of 2 ranks continue the run" in machines.runs[0].log(), machines.runs[0].log())
    for read in (w.losses, lambda out: w.tensors(out, "model")):
        demand(read("shrunk") == read("whole"), f"other bits than the undisturbed run (seed {w.seed})")


def a_run_that_overwrites_continues_itself(w):
    """--overwrite_output_dir deletes the checkpoints of an earlier run, and not those of this one."""
    more = ["--overwrite_output_dir", "--max_steps", "12"]
    w.run(2, training(w, "again", 2, "--max_steps", "8", "--learning_rate", "0.01"))
    wanted = undisturbed(w, 2, "--max_steps", "12")
    for text in (r"\[?rank", r"step 10/12"):
        run = Launched(w, [*training(w, "again", 2, "--max_steps", "12"), "--overwrite_output_dir"], ["--num_processes", "2", "--max_restarts", "3"])
        run.until(text)
        os.kill(run.until_rank(1), signal.SIGKILL)
        run.wait()
        demand("restart 1 of 3" in run.log(), run.log()[-4000:])
        same_bits(w, "again", wanted, f"a run that overwrites, killed at {text}: {more}")
    demand("continue    from again/checkpoint-8" in run.log(), run.log()[-4000:])


def rule_3_a_stopped_rank_is_named_and_waited_for(w):
    """SIGSTOP of each rank: the others name it with its host and the collective at which they wait, and continue with it."""
    wanted = undisturbed(w, 2)
    for rank in (0, 1) if w.all else (1,):
        run = Launched(w, training(w, f"stopped{rank}", 2), ["--num_processes", "2", "--max_restarts", "1"])
        run.until("step 5/24")
        pid = run.ranks()[rank]
        os.kill(pid, signal.SIGSTOP)
        begun = time.time()
        run.until(rf"1 of 2 ranks wait at '(\w+ .+|[^']+)' for \d+s: rank {rank} on host \S+: ", 10)
        run.until(rf"rank {rank} on host \S+: is silent for \ds", 10)
        time.sleep(max(0, begun + (120 if w.all else 7) - time.time()))
        demand(not run.ended(), run.log())
        os.kill(pid, signal.SIGCONT)
        run.wait()
        demand("restart" not in run.log(), run.log())
        same_bits(w, f"stopped{rank}", wanted, f"rank {rank} stopped")


def rule_6_a_killed_rank_is_named_in_one_sentence(w):
    """Without restarts left: the launcher's last line, and its status."""
    run = Launched(w, training(w, "named", 2), ["--num_processes", "2"])
    run.until("step 5/24")
    os.kill(run.ranks()[1], signal.SIGKILL)
    begun = time.time()
    run.wait(128 + signal.SIGKILL)
    demand(time.time() - begun < 10, f"{time.time() - begun:.0f} s until the end")
    last = run.log().strip().splitlines()[-1]
    demand(re.fullmatch(r"error: rank 1 on host \S+ failed first at step \d+.*: H3182 rank 1 on host \S+ was ended by signal 9 \(Killed\)", last), last)


def a_full_disk_on_one_rank_loses_nothing(w):
    """The limit of file sizes stands for a full disk, which no restart would empty: the error names the rank, and the same command continues."""
    wanted = undisturbed(w, 2, "--zero_stage", "1")
    argv, launch = training(w, "full", 2, "--zero_stage", "1"), ["--num_processes", "2", "--max_restarts", "2"]
    run = Launched(w, argv, launch)
    run.until("step 5/24")
    resource.prlimit(run.ranks()[1], resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
    run.wait(1)
    demand(re.search(r"rank 1 on host \S+ failed first at step \d+: H0103 ", run.log()), run.log()[-6000:])
    Launched(w, argv, launch).wait()
    same_bits(w, "full", wanted, "a full disk")


def ranks_that_do_not_join_are_named_in_time(w):
    """Without a launcher nothing is known of a rank that died before it joined."""
    argv = training(w, "missing", 2, "--ddp_timeout", "5")
    begun = time.time()
    processes = w.start(2, argv)
    processes[1].kill()
    statuses = [p.wait(timeout=60) for p in processes]
    demand(statuses[0] == 1 and "H0126" in w.log(0) and "rank 1: has not joined" in w.log(0), f"{statuses}\n{w.log(0)}")
    demand(time.time() - begun < 30, f"{time.time() - begun:.0f} s")


def rule_20_ranks_share_the_cache(w):
    """Ranks that start at once with an empty cache of the hub: the weights come once."""
    shutil.copytree(os.path.join(placement_bits.GOLDENS, "tiny_text_gpt2"), w.path("hub", "tiny"))
    hub = subprocess.Popen([sys.executable, os.path.join(SOURCE, "tools", "fake_hub.py"), "--root", w.path("hub")], stdout=subprocess.PIPE, text=True)
    try:
        place = "http://127.0.0.1:" + hub.stdout.readline().split()[1]
        argv = [w.hone, "train", "--task", "clm", "--model_name_or_path", "tiny", "--train_file", "t.txt", "--block_size", "24", "--do_train",
                "--max_steps", "2", "--threads", "1", "--output_dir", "shared"]
        run = Launched(w, argv, ["--num_processes", "3"], environment={"HF_ENDPOINT": place, "HF_HOME": w.path("hf"), "no_proxy": "127.0.0.1"})
        run.wait()
        with urllib.request.urlopen(place + "/_log") as answer:
            asked = [r["path"] for r in json.load(answer) if r["method"] == "GET"]
        weights = [path for path in asked if path.startswith("/cdn/") and "model.safetensors" in path]
        demand(len(weights) == 1, f"the weights were read {len(weights)} times: {asked}")
    finally:
        hub.kill()


def a_cut_link_loses_nothing(w):
    """The link between two machines is down for some seconds. Both launchers find each other again."""
    if not w.all:
        raise Skipped("takes a minute: --all")
    with Hosts() as hosts:
        wanted = undisturbed(w, 2)
        runs = hosts.start(w, training(w, "cut", 2))
        runs[0].until("step 5/24")
        hosts.cut()
        runs[0].until(r"rank 1 on host \S+ (ended without an error|failed first)", 20)
        time.sleep(4)
        hosts.join()
        for run in runs:
            run.wait()
        demand("restart 1 of 20" in runs[0].log(), runs[0].log())
        same_bits(w, "cut", wanted, f"a cut link\n{runs[0].log()[-3000:]}")


def rule_9_a_link_that_loses_large_packets_is_noticed(w):
    """Heartbeats pass, and tensors do not: after a minute the ranks end, and they continue when the link is whole."""
    if not w.all:
        raise Skipped("takes minutes: --all")
    with Hosts() as hosts:
        wanted = undisturbed(w, 2)
        runs = hosts.start(w, training(w, "lossy", 2))
        runs[0].until("step 5/24")
        for name in NAMESPACES:
            hosts.inside(name, "tc", "qdisc", "add", "dev", "link1", "root", "tbf", "rate", "1gbit", "burst", "1400", "limit", "1m")
        runs[0].until(r"H0131 all 2 ranks wait at '|H1502  rank \d lost rank \d: .*timed out")  # the kernel may notice it first
        for name in NAMESPACES:
            hosts.inside(name, "tc", "qdisc", "del", "dev", "link1", "root")
        for run in runs:
            run.wait()
        same_bits(w, "lossy", wanted, f"a link that lost packets\n{runs[0].log()[-3000:]}")


def rule_9_a_path_of_mtu_1400_is_no_fault(w):
    """The MTU of both ends changes while they train; then a path that silently loses larger packets from the start, beside one that does not."""
    if not w.all:
        raise Skipped("takes a minute: --all")
    wanted = undisturbed(w, 2)
    with Hosts() as hosts:
        runs = hosts.start(w, training(w, "mtu", 2))
        runs[0].until("step 5/24")
        for name in NAMESPACES:
            hosts.inside(name, "ip", "link", "set", "link1", "mtu", "1400")
        for run in runs:
            run.wait()
        demand("restart" not in runs[0].log(), runs[0].log())
        same_bits(w, "mtu", wanted, "an MTU of 1400")
    with Hosts(links=2) as hosts:
        for name in NAMESPACES:
            hosts.inside(name, "tc", "qdisc", "add", "dev", "link1", "root", "tbf", "rate", "1gbit", "burst", "1400", "limit", "1m")
        runs = hosts.start(w, training(w, "hole", 2))
        for run in runs:
            run.wait()
        demand("restart" not in runs[0].log(), runs[0].log())
        same_bits(w, "hole", wanted, "a path that loses packets above 1400 bytes")


def a_dead_machine_is_left_out(w):
    """The interface of machine 1 dies for good: with --min_ranks the others continue with the same rows."""
    if not w.all:
        raise Skipped("takes a minute: --all")
    with Hosts() as hosts:
        wanted = undisturbed(w, 2)
        runs = hosts.start(w, training(w, "dead", 2), "--min_ranks", "1")
        runs[0].until("step 5/24")
        hosts.cut()
        runs[0].wait()
        runs[1].kill()
        demand("1 of 2 ranks continue the run" in runs[0].log(), runs[0].log())
        close(w.losses("dead"), wanted[0], "one of two ranks")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--kills", type=int, default=0, help="random kills (default: 6, with --all 200)")
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    tests = chosen_tests(globals(), ("rule_", "a_", "nothing_", "ranks_that"), options.tests)

    def world(folder):
        w = World(os.path.abspath(options.hone), folder, options.all, options.seed)
        w.kills = options.kills or (200 if options.all else 6)
        return w

    return run_tests(tests, "hone_elastic_", world)


if __name__ == "__main__":
    sys.exit(main())
