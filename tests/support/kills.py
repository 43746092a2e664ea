"""Programs that are killed at random moments, for tests of tests/faults."""
import signal
import subprocess


def run_with_kills(start, most, moment, signal_of=lambda: signal.SIGKILL):
    """Starts a program until it ends by itself, after at most `most` kills with signal_of(), moment() seconds after each start.

    start() returns its Popen with a pipe of text for standard error. The number of kills, and why it failed ("" if it did not).
    """
    kills = 0
    while True:
        run, by = start(), signal_of()
        try:
            _, log = run.communicate(timeout=moment() if kills < most else 120)
        except subprocess.TimeoutExpired:
            run.send_signal(by)
            _, log = run.communicate()
            kills += 1
            if run.returncode in (-by, 128 + by):
                continue
        return kills, "" if run.returncode == 0 else f"status {run.returncode}: {log[-2000:]}"
