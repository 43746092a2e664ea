#!/usr/bin/env python3
# nightly: --all
"""Restarts of ranks that other programs start: Open MPI's mpirun, and ssh to a real sshd of this machine.

    tests/faults/elastic_launchers.py --hone build/hone --all [TEST...]

A rank is killed, then all processes of one host; the run ends with the bits of one that was not disturbed. Tests whose programs are
missing are left out; without --all nothing runs.
"""
import argparse
import getpass
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from elastic import Launched, same_bits, training, undisturbed
from placement_bits import SOURCE
from ranks import Skipped, World, chosen_tests, demand, free_port, run_tests
from checks import processes  # ranks names its folder

LONG = ["--max_steps", "200", "--save_steps", "20", "--eval_steps", "50"]


def ranks_of(out):
    """Process numbers by rank, of the run into that folder, whoever started them."""
    found = {}
    for pid, variables, words in processes():
        rank = variables.get("RANK", variables.get("OMPI_COMM_WORLD_RANK"))
        if rank is not None and words[1:2] == ["train"] and out in words:
            found[int(rank)] = pid
    return found


def kill_when(run, out, text, rank):
    run.until(text)
    pid = ranks_of(out).get(rank)
    demand(pid, f"rank {rank} is not there: {ranks_of(out)}\n{run.log()[-3000:]}")
    os.kill(pid, signal.SIGKILL)


def mpirun_starts_its_ranks_again(w):
    folder = os.path.dirname(os.environ.get("HONE_MPIRUN", "") or shutil.which("mpirun") or "")
    if not folder:
        raise Skipped("needs mpirun, or its path in HONE_MPIRUN")
    wanted = undisturbed(w, 2, *LONG)
    run = Launched(w, training(w, "mpi", 2, *LONG), ["--launcher", "mpirun", "--num_processes", "2", "--max_restarts", "4", "--launcher_args=--oversubscribe"],
                   environment={"PATH": f"{folder}:{os.environ['PATH']}"})
    kill_when(run, "mpi", "step 30/200", 1)
    run.until("restart 1 of 4")
    kill_when(run, "mpi", "step 70/200", 0)
    run.wait()
    demand("restart 2 of 4" in run.log() and "continue    from mpi/checkpoint-" in run.log(), run.log()[-6000:])
    same_bits(w, "mpi", wanted, f"mpirun\n{run.log()[-3000:]}")


class Sshd:
    """A server of this machine for keys of its own, and a client's configuration with two names for it."""

    def __init__(self, w):
        programs = [name for name in ("ssh", "ssh-keygen") if not shutil.which(name)]
        server = shutil.which("sshd") or "/usr/sbin/sshd"
        if programs or not os.path.exists(server) or os.geteuid() != 0:
            raise Skipped("needs root, ssh and sshd")
        self.folder = w.path("ssh")
        os.makedirs(self.folder, mode=0o700)
        os.makedirs("/run/sshd", exist_ok=True)
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(key)], check=True)
        port = free_port()
        self.write("sshd", f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.path('host')}\nAuthorizedKeysFile {self.path('user')}.pub\n"
                   f"PidFile {self.path('pid')}\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nMaxStartups 100\n")
        self.write("config", f"Host host-a host-b\n  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n  IdentityFile {self.path('user')}\n"
                   f"  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile {self.path('known')}\n  LogLevel ERROR\n")
        self.write("hosts", "host-a slots=1\nhost-b slots=1\n")
        self.process = subprocess.Popen([server, "-D", "-e", "-f", self.path("sshd")], stdout=subprocess.DEVNULL, stderr=open(self.path("log"), "w"))
        end = time.time() + 20
        while subprocess.run(["ssh", "-F", self.path("config"), "-o", "BatchMode=yes", "host-a", "true"], capture_output=True, check=False).returncode:
            if time.time() > end:
                self.process.kill()
                with open(self.path("log")) as f:
                    raise Skipped(f"sshd does not answer: {f.read()[-500:]}")
            time.sleep(0.2)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def ssh_starts_its_ranks_again(w):
    """Rank 1, then the launcher of its host with all that it started."""
    with Sshd(w) as sshd:
        wanted = undisturbed(w, 2, *LONG)
        run = Launched(w, training(w, "over_ssh", 2, *LONG), ["--launcher", "ssh", "--hostfile", sshd.path("hosts"), "--max_restarts", "4",
                                                            f"--launcher_args=-F,{sshd.path('config')}"])
        kill_when(run, "over_ssh", "step 30/200", 1)
        run.until("restart 1 of 4")
        run.until("step 70/200")
        rank = ranks_of("over_ssh")[1]
        with open(f"/proc/{rank}/stat") as f:
            launcher = int(f.read().rpartition(")")[2].split()[1])
        os.kill(launcher, signal.SIGKILL)
        run.wait()
        demand("restart 2 of 4" in run.log() and "continue    from over_ssh/checkpoint-" in run.log(), run.log()[-6000:])
        same_bits(w, "over_ssh", wanted, f"ssh\n{run.log()[-3000:]}")
        demand(not ranks_of("over_ssh"), f"ranks are left: {ranks_of('over_ssh')}")


def a_host_without_the_program_is_named(w):
    """Before any rank starts."""
    with Sshd(w) as sshd:
        sshd.write("hosts", "host-a slots=1\nnowhere slots=1\n")
        run = Launched(w, training(w, "refused", 2), ["--launcher", "ssh", "--hostfile", sshd.path("hosts"), f"--launcher_args=-F,{sshd.path('config')}"])
        run.wait(1)
        demand(re.search(r"H31\d\d.*1 of 2 hosts cannot take ranks: nowhere: ssh does not reach it", run.log()), run.log())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    if not options.all:
        print("skipped: takes minutes: --all")
        return 77
    tests = chosen_tests(globals(), ("mpirun_", "ssh_", "a_"), options.tests)
    return run_tests(tests, "hone_launchers_", lambda folder: World(os.path.abspath(options.hone), folder, True, 0))


if __name__ == "__main__":
    sys.exit(main())
