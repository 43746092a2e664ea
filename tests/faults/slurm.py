#!/usr/bin/env python3
# nightly: --all
"""Runs in a real Slurm of two nodes on this machine: submitted, killed, requeued, preempted, out of time, on a node that dies.

    tests/faults/slurm.py --hone build/hone [--all] [TEST...]

Each run must end with the bits of one that Slurm left alone. Needs root, munge and Slurm's daemons (Debian: slurm-wlm); without them
the test is skipped. Without --all the time limit, preemption and the death of a node, which take minutes, are left out.
"""
import argparse
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from elastic import same_bits, training, undisturbed
from placement_bits import SOURCE
from ranks import Fault, World, demand, run_tests
from checks import processes  # ranks names its folder

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "sinfo")
PATIENCE = 300

CONFIGURATION = """
ClusterName=hone
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/run/munge.sock
SlurmctldPort={port}
SlurmdPort={slurmd}
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldLogFile={folder}/log/ctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
JobRequeue=1
KillWait=10
MessageTimeout=10
SlurmctldTimeout=30
SlurmdTimeout=30
InactiveLimit=0
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node1} CPUs=2 RealMemory=4000 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={node2} CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=n1,n2 MaxTime=INFINITE State=UP PriorityTier=10
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Slurm:
    """Two nodes, whose daemons run on this machine."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="hone_slurm_", dir="/tmp")
        os.chmod(self.folder, 0o755)  # munge demands it
        for name in ("state", "spool.n1", "spool.n2", "run", "log"):
            os.mkdir(os.path.join(self.folder, name))
        key = os.path.join(self.folder, "munge.key")
        with open(key, "wb") as f:
            f.write(os.urandom(1024))
        os.chmod(key, 0o400)
        port, slurmd, node1, node2 = free_ports(4)
        with open(os.path.join(self.folder, "slurm.conf"), "w") as f:
            f.write(CONFIGURATION.format(host=socket.gethostname().split(".")[0], folder=self.folder, port=port, slurmd=slurmd, node1=node1, node2=node2))
        self.environment = {**os.environ, "SLURM_CONF": os.path.join(self.folder, "slurm.conf")}
        run = os.path.join(self.folder, "run")
        self.call("munged", f"--key-file={key}", f"--socket={run}/munge.sock", f"--pid-file={run}/munged.pid", f"--log-file={self.folder}/log/munged.log",
                  f"--seed-file={run}/munged.seed")
        self.call("slurmctld", "-c")
        for node in ("n1", "n2"):
            self.call("slurmd", "-N", node)
        self.until(lambda: self.call("sinfo", "-h", "-N", "-o", "%t").split().count("idle") >= 2, "the nodes are not idle")

    def call(self, *words):
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Fault(f"{' '.join(words)}: {done.stderr}")
        return done.stdout.strip()

    @staticmethod
    def until(holds, text, seconds=PATIENCE):
        end = time.time() + seconds
        while not holds():
            demand(time.time() < end, text)
            time.sleep(0.1)

    def pid(self, name):
        with open(os.path.join(self.folder, "run", name + ".pid")) as f:
            return int(f.read())

    def stop(self):
        subprocess.run(["scancel", "--full", "--state=RUNNING"], env=self.environment, capture_output=True, check=False)
        subprocess.run(["scancel", "--state=PENDING"], env=self.environment, capture_output=True, check=False)
        time.sleep(1)
        for name in "slurmd.n1", "slurmd.n2", "slurmctld", "munged":
            try:
                os.kill(self.pid(name), signal.SIGKILL)
            except (OSError, ValueError):
                pass
        # Processes of jobs have the folder in their environment.
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as f:
                    if self.folder.encode() in f.read() and int(path.split("/")[2]) != os.getpid():
                        os.kill(int(path.split("/")[2]), signal.SIGKILL)
            except OSError:
                pass
        shutil.rmtree(self.folder, ignore_errors=True)


class Job:
    def __init__(self, w, argv, *launch):
        self.w, self.slurm = w, w.slurm
        done = subprocess.run([w.hone, "launch", "--launcher", "slurm", "--num_processes", "2", "--processes_per_machine", "1", *launch, "--", *argv[1:]],
                              cwd=w.folder, env=w.slurm.environment, capture_output=True, text=True, check=False)
        found = re.search(r"job (\d+):", done.stdout + done.stderr)
        demand(done.returncode == 0 and found, f"not submitted: {done.stderr}")
        self.id = found[1]

    def state(self):
        found = re.search(r"JobState=(\w+)", self.slurm.call("scontrol", "show", "job", "-o", self.id))
        return found[1] if found else ""

    def log(self):
        try:
            with open(self.w.path(f"slurm-{self.id}.out")) as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def until(self, text):
        self.slurm.until(lambda: re.search(text, self.log()), f"no line '{text}' of job {self.id}, which is {self.state()}:\n{self.log()[-5000:]}")

    def until_state(self, *states):
        self.slurm.until(lambda: self.state() in states, f"job {self.id} is {self.state()}, not {states}:\n{self.log()[-5000:]}")

    def run_again(self):
        """Without the pause before a requeued job starts."""
        self.until_state("PENDING")
        self.slurm.until(self.starts_now, f"job {self.id} does not start")

    def starts_now(self):
        if self.state() in ("RUNNING", "COMPLETED"):
            return True
        subprocess.run(["scontrol", "update", f"JobId={self.id}", "StartTime=now"], env=self.slurm.environment, capture_output=True, check=False)
        time.sleep(1)
        return False

    def ranks(self):
        return {int(variables["SLURM_PROCID"]): pid for pid, variables, words in processes()
                if variables.get("SLURM_JOB_ID") == self.id and "SLURM_STEP_ID" in variables and "train" in words and "launch" not in words
                and not any("srun" in word for word in words)}

    def finish(self, wanted, out, what):
        self.until_state("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL")
        demand(self.state() == "COMPLETED", f"job {self.id} is {self.state()}:\n{self.log()[-5000:]}")
        same_bits(self.w, out, wanted, what + "\n" + self.log()[-3000:])


LONG = ["--max_steps", "400", "--save_steps", "50", "--eval_steps", "100"]


def a_job_that_is_submitted_has_the_same_bits(w):
    wanted = undisturbed(w, 2)
    Job(w, training(w, "job", 2)).finish(wanted, "job", "a job")


def a_killed_rank_starts_again_inside_of_the_job(w):
    wanted = undisturbed(w, 2, *LONG)
    job = Job(w, training(w, "killed", 2, *LONG), "--max_restarts", "3")
    job.until("step 60/400")
    os.kill(job.ranks()[1], signal.SIGKILL)
    job.until(r"rank 1 on host n\d failed first at step \d+.*restart 1 of 3")
    job.finish(wanted, "killed", "a killed rank")


def a_requeued_job_continues(w):
    """Also with --overwrite_output_dir, which deletes only what was there before the job."""
    wanted = undisturbed(w, 2, *LONG)
    job = Job(w, [*training(w, "requeued", 2, *LONG), "--overwrite_output_dir"])
    job.until("step 60/400")
    w.slurm.call("scontrol", "requeue", job.id)
    job.run_again()
    job.until("continue +from requeued/checkpoint-")
    job.finish(wanted, "requeued", "a requeued job")


def preemption_saves_and_continues(w):
    wanted = undisturbed(w, 2, *LONG)
    job = Job(w, training(w, "preempted", 2, *LONG))
    job.until("step 60/400")
    urgent = w.slurm.call("sbatch", "--parsable", "--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=sleep 3")
    w.slurm.until(lambda: "JobState=COMPLETED" in w.slurm.call("scontrol", "show", "job", "-o", urgent), "the urgent job did not run")
    demand("stopped     by a signal after step" in job.log(), f"nothing was saved before the end:\n{job.log()[-4000:]}")
    job.run_again()
    job.until("continue +from preempted/checkpoint-")
    job.finish(wanted, "preempted", "a preempted job")


def the_end_of_the_time_saves(w):
    """Slurm sends SIGTERM 120 seconds before the limit."""
    job = Job(w, training(w, "late", 2, "--max_steps", "1000000", "--save_steps", "1000000", "--eval_steps", "1000000", "--logging_steps", "1000"),
              "--launcher_args=--time=3")
    job.until("stopped     by a signal after step")
    demand(glob.glob(w.path("late", "checkpoint-*")), "nothing was saved")
    w.slurm.until(lambda: job.state() not in ("RUNNING", "COMPLETING"), "the job does not end")
    demand(job.state() != "TIMEOUT", "the job ran until its limit")


def a_dead_node_requeues_the_job(w):
    wanted = undisturbed(w, 2, *LONG)
    job = Job(w, training(w, "node", 2, *LONG))
    job.until("step 60/400")
    rank = job.ranks()[1]
    os.kill(w.slurm.pid("slurmd.n2"), signal.SIGKILL)
    os.kill(rank, signal.SIGSTOP)  # the job does not end by itself
    w.slurm.until(lambda: job.state() == "PENDING", f"the job is {job.state()}")
    try:
        os.kill(rank, signal.SIGKILL)
    except OSError:
        pass
    w.slurm.call("slurmd", "-N", "n2")
    subprocess.run(["scontrol", "update", "nodename=n2", "state=resume"], env=w.slurm.environment, capture_output=True, check=False)
    job.run_again()
    job.finish(wanted, "node", "a dead node")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        print(f"skipped: needs root and Slurm (Debian: slurm-wlm, munge): {', '.join(missing)}")
        return 77
    tests = [a_job_that_is_submitted_has_the_same_bits, a_killed_rank_starts_again_inside_of_the_job, a_requeued_job_continues]
    if options.all:
        tests += [preemption_saves_and_continues, the_end_of_the_time_saves, a_dead_node_requeues_the_job]
    slurm = Slurm()

    def world(folder):
        w = World(os.path.abspath(options.hone), folder, options.all, 0)
        w.slurm = slurm
        return w

    try:
        return run_tests([t for t in tests if not options.tests or any(part in t.__name__ for part in options.tests)], "hone_slurm_run_", world)
    finally:
        slurm.stop()


if __name__ == "__main__":
    sys.exit(main())
