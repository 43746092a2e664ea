"""Parts that the programs of tests/faults share."""
import socket


class Fault(Exception):
    """Says what a test found to be wrong."""


class Skipped(Exception):
    """Says why a test cannot run here."""


def demand(condition, *what):
    if not condition:
        raise Fault("\n".join(str(w) for w in what))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
