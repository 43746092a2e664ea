#!/usr/bin/env python3
"""Upload and download of one large file to a bucket on loopback: `hone store cp` against `gcloud storage cp` and
`rclone copyto`, in pairs on tools/fake_buckets.py. Seconds and the largest memory of each whole process tree.

    bench/transfer.py [--hone build/hone] [--mebibytes 1024] [--samples 3]

A peer that is not installed is left out. The server is Python and has a core for itself, as a network has; it holds
what was uploaded in memory.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def memory_of_tree(pid):
    """Bytes in memory of a process and all below it, by what they have alone."""
    total, waiting = 0, [pid]
    while waiting:
        p = waiting.pop()
        try:
            with open(f"/proc/{p}/smaps_rollup") as f:
                total += sum(int(line.split()[1]) << 10 for line in f if line.startswith("Pss:"))
            for task in os.listdir(f"/proc/{p}/task"):
                with open(f"/proc/{p}/task/{task}/children") as f:
                    waiting += [int(c) for c in f.read().split()]
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return total


def timed(argv, environment):
    os.sync()  # what an earlier client wrote is on the disk
    began = time.monotonic()
    process = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    most = 0
    while process.poll() is None:
        most = max(most, memory_of_tree(process.pid))
        time.sleep(0.02)
    seconds = time.monotonic() - began
    if process.returncode:
        sys.exit(f"{' '.join(argv)}: {process.stderr.read().decode()[-500:]}")
    return seconds, most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--rclone", default=shutil.which("rclone"))
    parser.add_argument("--mebibytes", type=int, default=1024)
    parser.add_argument("--samples", type=int, default=3)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hone_transfer_")
    server = subprocess.Popen([sys.executable, os.path.join(SOURCE, "tools", "fake_buckets.py"), "--bucket", "gs://bench"],
                              stdout=subprocess.PIPE, text=True)
    try:
        port = server.stdout.readline().split()[1]
        here = f"http://127.0.0.1:{port}"
        up, down = os.path.join(folder, "up"), os.path.join(folder, "down")
        with open(up, "wb") as f:
            for _ in range(options.mebibytes):
                f.write(os.urandom(1 << 20))
        env = {**os.environ, "STORAGE_EMULATOR_HOST": here, "no_proxy": "127.0.0.1", "GOOGLE_CLOUD_PROJECT": "p1"}
        clients = {"hone": (lambda a, b: [os.path.abspath(options.hone), "store", "cp", a, b], "gs://bench/", env)}
        if shutil.which("gcloud"):
            gcloud = {**os.environ, "CLOUDSDK_CONFIG": os.path.join(folder, "gcloud"), "no_proxy": "127.0.0.1",
                      "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true", "CLOUDSDK_CORE_PROJECT": "p1",
                      "CLOUDSDK_CORE_CHECK_GCE_METADATA": "false", "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
                      "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
                      "CLOUDSDK_STORAGE_PARALLEL_COMPOSITE_UPLOAD_ENABLED": "false",
                      "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": here + "/"}
            clients["gcloud"] = (lambda a, b: ["timeout", "300", "gcloud", "storage", "cp", a, b], "gs://bench/", gcloud)
        if options.rclone:
            flags = ["--gcs-endpoint", here + "/storage/v1/", "--gcs-anonymous", "--gcs-bucket-policy-only",
                     "--config", "/dev/null", "--ignore-times"]
            clients["rclone"] = (lambda a, b: [options.rclone, "copyto", a, b] + flags, ":gcs:bench/", env)
        results = {}
        for number in range(options.samples):
            order = list(clients.items())
            for name, (command, bucket, environment) in order if number % 2 == 0 else order[::-1]:
                results.setdefault((name, "upload"), []).append(timed(command(up, bucket + name), environment))
                if os.path.exists(down):
                    os.remove(down)
                results.setdefault((name, "download"), []).append(timed(command(bucket + name, down), environment))
                if subprocess.call(["cmp", "-s", up, down]):
                    sys.exit(f"{name}: what came back differs")
        rows = []
        for (name, what), samples in results.items():
            ours = statistics.median(s for s, _ in results["hone", what])
            seconds = statistics.median(s for s, _ in samples)
            rows.append({"client": name, "what": what, "mebibytes": options.mebibytes, "seconds": round(seconds, 3),
                         "memory_mib": round(max(m for _, m in samples) / 2**20, 1), "times_hone": round(seconds / ours, 2)})
            print(json.dumps(rows[-1]))
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
