"""Parts that the programs of tests/faults share."""
import glob
import os
import socket
import tempfile


class Fault(Exception):
    """Says what a test found to be wrong."""


class Skipped(Exception):
    """Says why a test cannot run here."""


def demand(condition, *what):
    if not condition:
        raise Fault("\n".join(str(w) for w in what))


def clean_environment(home, program, **more):
    """The variables of a user who has that home and program, and nothing of hone's from elsewhere."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "HONE_"))}
    return {**kept, "HOME": home, "PATH": os.path.dirname(program) + os.pathsep + os.environ["PATH"], "HF_HUB_OFFLINE": "1",
            "HONE_DRAIN_DELAY": "0", **more}


def disk_folder(prefix):
    """A new folder on a disk, also where TMPDIR is in memory: what is on it is not counted as memory."""
    return tempfile.mkdtemp(prefix=prefix, dir="/var/tmp")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def processes(pids=None):
    """The number, variables and words of each process, of these or of this machine."""
    for pid in pids if pids is not None else [path.split("/")[2] for path in glob.glob("/proc/[0-9]*")]:
        try:
            with open(f"/proc/{pid}/environ") as f:
                variables = dict(word.split("=", 1) for word in f.read().split("\0") if "=" in word)
            with open(f"/proc/{pid}/cmdline") as f:
                words = f.read().split("\0")
        except (OSError, ValueError):
            continue
        yield int(pid), variables, words
