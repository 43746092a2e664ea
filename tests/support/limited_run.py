"""A command in a memory group of its own (cgroup version 1 or 2), and what it held meanwhile.

    done = run([...], cwd, limit_bytes)
    done.status, done.text, done.most_bytes, done.group   # group: "v1", "v2" or "" where none can be made

The kernel reclaims the file cache of the group and kills what needs more than the limit, so a run that ends
by itself stayed inside. most_bytes is RssAnon + RssShmem as /proc/<pid>/status said it, read every few
milliseconds. Without the rights to make a group only the second is known.
"""
import os
import subprocess
import tempfile
import time


class Done:
    def __init__(self, status, text, most_bytes, group, killed, pid):
        self.status, self.text, self.most_bytes = status, text, most_bytes
        self.group, self.killed, self.pid = group, killed, pid


def _own(controllers):
    """Path of this process's group in the hierarchy with these controllers; None where there is none."""
    with open("/proc/self/cgroup") as f:
        for line in f:
            _, names, path = line.strip().split(":", 2)
            if names == controllers or controllers in names.split(","):
                return path
    return None


class MemoryGroup:
    """A group with a limit; `version` is "" where none can be made."""

    def __init__(self, limit_bytes):
        self.version, self.path = "", ""
        for version, mount, controllers, file in (("v1", "/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes"),
                                                  ("v2", "/sys/fs/cgroup", "", "memory.max")):
            own = _own(controllers)
            if own is None:
                continue
            for parent in (mount + own, mount):
                path = os.path.join(parent, f"hone_limited_{os.getpid()}")
                try:
                    os.mkdir(path)
                except OSError:
                    continue
                try:
                    if not os.path.exists(os.path.join(path, file)):
                        raise OSError
                    with open(os.path.join(path, file), "w") as f:
                        f.write(str(limit_bytes))
                    self.version, self.path = version, path
                    return
                except OSError:
                    os.rmdir(path)

    def enter(self):
        """In the child, before exec."""
        if self.path:
            with open(os.path.join(self.path, "cgroup.procs"), "w") as f:
                f.write(str(os.getpid()))

    def killed(self):
        """How many processes the kernel killed for memory."""
        for name in ("memory.oom_control", "memory.events"):
            try:
                with open(os.path.join(self.path, name)) as f:
                    return sum(int(line.split()[1]) for line in f if line.startswith("oom_kill "))
            except OSError:
                continue
        return 0

    def close(self):
        for _ in range(100):
            try:
                if self.path:
                    os.rmdir(self.path)
                return
            except OSError:  # the kernel is still counting
                time.sleep(0.01)


def held(pid):
    """RssAnon + RssShmem of a process, 0 when it has ended."""
    try:
        with open(f"/proc/{pid}/status") as f:
            return sum(int(line.split()[1]) << 10 for line in f if line.startswith(("RssAnon:", "RssShmem:")))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def run(argv, cwd, limit_bytes, timeout=600):
    group = MemoryGroup(limit_bytes)
    try:
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=group.enter)
            most, until = 0, time.monotonic() + timeout
            while process.poll() is None:
                most = max(most, held(process.pid))
                time.sleep(0.004)
                if time.monotonic() > until:
                    process.kill()
            log.seek(0)
            return Done(process.returncode, log.read().decode(errors="replace"), most, group.version, group.killed(), process.pid)
    finally:
        group.close()
