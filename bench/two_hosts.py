"""Two network namespaces joined by a cable of a given rate, as two hosts on this machine; root and Debian's iproute2."""
import os
import pathlib
import re
import shutil
import subprocess

ADDRESSES = ["198.18.0.1", "198.18.0.2"]  # of the range for benchmarks of networks (RFC 2544); they exist in here only
UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def missing():
    """The reason why this machine cannot have such hosts; "" if it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    lacks = [name for name in ("ip", "tc", "unshare") if not shutil.which(name)]
    if lacks:
        return f"there is no {lacks[0]}: apt-get install iproute2 util-linux"
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"network namespaces do not work here: {tried.stderr.strip()}"


def bytes_per_second(rate):
    found = re.fullmatch(r"([\d.]+)(kbit|mbit|gbit)", rate)
    if not found:
        raise SystemExit(f"'{rate}' is not a rate such as 100mbit or 10gbit")
    return float(found.group(1)) * UNITS[found.group(2)] / 8


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")


class TwoHosts:
    """A context: inside it the hosts exist, and each sends at most `rate`."""

    def __init__(self, rate):
        self.rate, self.bytes_per_second = rate, bytes_per_second(rate)
        self.names = [f"hone{os.getpid()}h{i}" for i in range(2)]

    def __enter__(self):
        try:
            for name in self.names:
                run("ip", "netns", "add", name)
            run("ip", "link", "add", "cable", "netns", self.names[0], "type", "veth", "peer", "name", "cable", "netns",
                self.names[1])
            for name, address in zip(self.names, ADDRESSES):
                run("ip", "-n", name, "addr", "add", f"{address}/30", "dev", "cable")
                run("ip", "-n", name, "link", "set", "lo", "up")
                run("ip", "-n", name, "link", "set", "cable", "up")
                burst = max(128 * 1024, int(self.bytes_per_second / 500))
                run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "cable", "root", "tbf", "rate", self.rate,
                    "burst", str(burst), "latency", "50ms")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def on(self, host):
        """Words before a command that runs on host 0 or 1, under a host name of its own."""
        return ["ip", "netns", "exec", self.names[host], "unshare", "--uts", "sh", "-c",
                f'hostname host-{host}; exec "$@"', "sh"]

    def sent_bytes(self, host):
        """Bytes that the host has sent through the cable, by the kernel's count."""
        return sent_of(subprocess.run(["ip", "netns", "exec", self.names[host], "cat", "/proc/net/dev"],
                                      capture_output=True, text=True, check=True).stdout, "cable")


def sent_of(text, interface):
    """Sent bytes of an interface in the text of /proc/net/dev."""
    line = next(line for line in text.splitlines() if line.split(":")[0].strip() == interface)
    return int(line.split(":")[1].split()[8])


def interface_bytes(interface):
    """Bytes that an interface of this process's network has sent."""
    return sent_of(pathlib.Path("/proc/net/dev").read_text(), interface)
