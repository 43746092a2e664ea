#!/usr/bin/env python3
# nightly: --kills 100
"""The registry in PostgreSQL: a server of this machine, on a socket in a fresh folder, is started for it. Commands are
killed at random moments as registry_kill.py kills them, a lock is held, the server is stopped: one error each, and
nothing half-visible.

    tests/faults/registry_postgres.py --hone build/hone [--kills 10] [--seed N]

Skips with a reason where Debian's postgresql is not installed.
"""
import argparse
import glob
import json
import os
import pwd
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import registry_kill  # noqa: E402
from registry_kill import SOURCE, demand  # noqa: E402


class Server:
    def __init__(self, folder):
        self.folder, self.data = folder, os.path.join(folder, "data")
        self.bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name  # root may not run it
        if os.getuid() == 0:
            shutil.chown(folder, "postgres")
        os.chmod(folder, 0o755)
        self.run("initdb", "-D", self.data, "-A", "trust", "-U", "hone")
        self.start()

    def run(self, program, *args):
        command = [os.path.join(self.bin, program), *args]
        if os.getuid() == 0:
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
        done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120)
        demand(done.returncode == 0, f"{command}: {done.stdout}")
        return done.stdout

    def start(self):
        log = os.path.join(self.folder, "log")
        self.run("pg_ctl", "-D", self.data, "-w", "-l", log, "-o", f"-c listen_addresses='' -k {self.folder}", "start")

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")

    def rows(self, sql):
        command = [os.path.join(self.bin, "psql"), "-h", self.folder, "-U", "hone", "-d", "postgres", "-At",
                   "-c", f"SELECT json_agg(t) FROM ({sql}) t"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        demand(done.returncode == 0, done.stderr)
        return json.loads(done.stdout or "null") or []


class PostgresTest(registry_kill.Test):
    def __init__(self, hone, folder, seed, server):
        super().__init__(hone, folder, seed)
        self.server = server
        self.place = f"postgresql://hone:se-cret@/postgres?host={server.folder}"

    def command(self, *args):
        return [self.hone, "models", *args, "--registry", self.place]

    def whole(self):
        rows = self.server.rows
        versions = rows("SELECT number, source, metrics FROM hone_versions ORDER BY number")
        for n, v in enumerate(versions, 1):
            demand(v["number"] == n, f"version {v['number']} follows {n - 1}")
            with open(os.path.join(v["source"], "all_results.json"), encoding="utf-8") as f:
                demand(json.loads(v["metrics"]) == json.load(f), f"metrics of version {n}")
        alias = [a["version"] for a in rows("SELECT version FROM hone_aliases WHERE alias = 'champion'")]
        changes = [c["version"] for c in rows("SELECT version FROM hone_alias_changes ORDER BY id")]
        demand(changes[-1:] == alias, f"champion is {alias}, its history ends with {changes[-1:]}")
        decisions = rows("SELECT version, verdict FROM hone_decisions")
        demand(all(d["version"] in changes for d in decisions if d["verdict"] == "promote"), "a decision promoted nothing")
        return {"versions": len(versions), "champion": alias[0] if alias else None, "decisions": len(decisions)}

    def locked(self):
        psql = os.path.join(self.server.bin, "psql")
        other = subprocess.Popen([psql, "-h", self.server.folder, "-U", "hone", "-d", "postgres", "-At"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        other.stdin.write("BEGIN; SELECT pg_advisory_xact_lock(1752131173); SELECT 'held';\n")
        other.stdin.flush()
        while other.stdout.readline().strip() != "held":
            pass
        environment = {**os.environ, "HONE_REGISTRY_TIMEOUT": "1"}
        done = self.run("promote", "news:1", env=environment)
        demand(done.returncode == 1 and done.stderr.count("H3132") == 1, done.stderr)
        demand("se-cret" not in done.stderr, done.stderr)
        demand(self.run("list", env=environment).returncode == 0, "a reader waits for a writer")
        other.stdin.close()
        other.wait()
        demand(self.run("promote", "news:1", env=environment).returncode == 0, "still locked")
        print("registry_postgres: a lock is one error, readers do not wait", flush=True)

    def stopped(self):
        before = self.whole()
        self.server.stop()
        done = self.run("promote", "news:1")
        demand(done.returncode == 1 and done.stderr.count("H3133") == 1, done.stderr)
        demand("se-cret" not in done.stderr + done.stdout, done.stderr)
        self.server.start()
        demand(self.whole() == before, "the server lost what was committed")
        print("registry_postgres: a server that is away is one error, without the password", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    if not glob.glob("/usr/lib/postgresql/*/bin/initdb"):
        print("SKIP: PostgreSQL's server is not installed (apt-get install postgresql)")
        return 77
    seed = options.seed if options.seed is not None else random.randrange(1 << 30)
    print(f"registry_postgres: --seed {seed}", flush=True)
    folder, place = tempfile.mkdtemp(prefix="hone_registry_"), tempfile.mkdtemp(prefix="hone_pg_")
    server = None
    try:
        server = Server(place)
        test = PostgresTest(os.path.abspath(options.hone), folder, seed, server)
        test.kills(options.kills)
        test.locked()
        test.stopped()
        return 0
    finally:
        if server:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
