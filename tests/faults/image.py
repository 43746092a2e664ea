#!/usr/bin/env python3
"""Builds the images of containers/Containerfile with podman, and runs them without a network: the training image by
the flags that its users type, a project's image, and the serving image by Vertex AI's variables.

    tests/faults/image.py --hone build/hone

Skips (77) where podman and runc are missing, or where they cannot run a container.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from checks import Fault, demand, free_port  # noqa: E402

GOLDENS = os.path.join(SOURCE, "tests", "goldens")
RUN = ["--runtime=runc", "run", "--rm", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]


class Podman:
    def __init__(self, folder):
        self.folder = folder
        self.base = ["podman", "--root", os.path.join(folder, "root"), "--runroot", os.path.join(folder, "run"), "--storage-driver=vfs",
                     "--cgroup-manager=cgroupfs"]

    def call(self, *args, check=True, **options):
        done = subprocess.run([*self.base, *args], capture_output=True, text=True, timeout=600, **options)
        if check:
            demand(done.returncode == 0, f"podman {args}\n{done.stdout}{done.stderr}")
        return done

    def run(self, work, image, *args, network="none", more=(), check=True):
        return self.call(*RUN, f"--network={network}", "-v", f"{work}:/work", *more, image, *args, check=check)


def ask(url, body=None):
    request = urllib.request.Request(url, json.dumps(body).encode() if body is not None else None, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or "null")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    options = parser.parse_args()
    hone = os.path.abspath(options.hone)
    if not shutil.which("podman") or not shutil.which("runc"):
        print("skipped: apt-get install --no-install-recommends podman runc")
        return 77
    folder = tempfile.mkdtemp(prefix="hone_image_")
    context, work = os.path.join(folder, "context"), os.path.join(folder, "work")
    os.makedirs(work)
    podman = Podman(folder)
    try:
        subprocess.run([os.path.join(SOURCE, "tools", "image_root.sh"), hone, os.path.join(context, "build", "rootfs")], check=True, stdout=subprocess.DEVNULL)
        for target in ("hone", "nlp", "serve"):
            podman.call("build", "--isolation=chroot", "-f", os.path.join(SOURCE, "containers", "Containerfile"), "--target", target, "-t", target, context)
        first = podman.run(work, "hone", "--version", check=False)
        if first.returncode != 0 and "hone" not in first.stdout:
            print(f"skipped: podman cannot run a container here: {first.stderr.strip()}")
            return 77
        demand(first.stdout.startswith("hone "), first.stdout)
        print("hone       ok", flush=True)

        os.makedirs(os.path.join(work, "data"))
        shutil.copy(os.path.join(GOLDENS, "pandas", "pandas3.protocol5.pkl"), os.path.join(work, "data", "df.pickle"))
        shutil.copytree(os.path.join(GOLDENS, "classification", "roberta"), os.path.join(work, "roberta"))
        podman.run(work, "nlp", "--job-dir", ".", "--train-data-file", "data/df.pickle", "--batch-size", "1", "--pretrained_model_path", "roberta/",
                   "--max_epochs", "1")
        demand(os.path.exists(os.path.join(work, "trainer_output", "model.safetensors")), os.listdir(work))
        print("nlp        ok", flush=True)

        # A project's own image has what its pipeline needs, and runs it from rows to an endpoint.
        podman.run(work, "hone", "init", "summarization", "--dir", "project")
        project = os.path.join(work, "project")
        podman.call("build", "--isolation=chroot", "--build-arg", "HONE_IMAGE=localhost/hone", "-f", os.path.join(project, "Containerfile"), "-t", "project", project)
        said = podman.call(*RUN, "--network=none", "--entrypoint", "/usr/bin/hone", "project", "pull", "model", "data", "--to", "/tmp/pulled", "--prepare",
                           "summarization").stderr
        demand("/tmp/pulled/shards/train: 48 rows" in said, said)
        said = podman.call(*RUN, "--network=none", "project", "--json").stdout
        demand(json.loads(said)["endpoint"].isdigit() and json.loads(said)["status"] == "finished", said)
        print("project    ok", flush=True)

        port = free_port()
        server = subprocess.Popen([*podman.base, *RUN, "--network=host", "-v", f"{work}:/work", "-e", f"AIP_HTTP_PORT={port}", "-e", "AIP_HEALTH_ROUTE=/health",
                                   "-e", "AIP_PREDICT_ROUTE=/predict", "-e", "AIP_STORAGE_URI=/work/project/model", "serve"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            for _ in range(300):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                    break
                except OSError:
                    demand(server.poll() is None, server.stdout.read() if server.poll() is not None else "")
                    time.sleep(0.1)
            answer = ask(f"http://127.0.0.1:{port}/predict", {"instances": ["The ferry leaves at nine."]})
            demand(list(answer) == ["predictions"] and len(answer["predictions"]) == 1, answer)
        finally:
            server.terminate()
            server.wait(timeout=60)
        print("serve      ok", flush=True)
        return 0
    except Fault as e:
        print(e)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
