"""A bucket of tools/fake_buckets.py for a test of tests/faults."""
import atexit
import os
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def start_bucket(url):
    """Serves the bucket `url` until this program ends; what runs from here on finds it. The process and its address."""
    server = subprocess.Popen([sys.executable, os.path.join(SOURCE, "tools", "fake_buckets.py"), "--bucket", url],
                              stdout=subprocess.PIPE, text=True)
    atexit.register(server.kill)
    address = "http://127.0.0.1:" + server.stdout.readline().split()[1]
    os.environ.update(STORAGE_EMULATOR_HOST=address, no_proxy="127.0.0.1")
    return server, address
