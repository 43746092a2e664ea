#!/usr/bin/env python3
"""Runs transcripts: text files that say what is typed and what must be printed.

    tools/run_tests.py [--hone build/hone] tests/run/train.run ...    (no files: all of tests/)
    tools/run_tests.py --config tests/configs/threads_1.txt      the transcripts that it names, run again
    tools/run_tests.py --wrap FILE...       breaks lines of more than 120 columns with '+ '

One file runs in one fresh folder, which is the working directory, HOME and hub cache of its
commands. Lines of a .run file:

    # anything                  a comment; these comments mean something:
    # needs: data               skip with a reason unless $HONE_DATA (default ../shared/data) is there;
                                also 'venv' (Python with Transformers: $HONE_VENV_PYTHON), 'network',
                                'program/zsh' (a program, of Debian's package of this name), 'xla_cpu'
                                (a PJRT plug-in for the CPU, as hone doctor finds it)
    # timeout: 300              seconds for each command (default 120)
    # env: NAME=value           in the environment of each command
    # label: slow               for ctest: slow or nightly (several words allowed)
    # file data/a.csv           the lines up to '# end' become this file (variables are replaced);
                                'file-crlf' ends them with CR LF, 'file-raw' drops the last line end
    $ hone eval --x ${DATA}/y   run the program (no shell; NAME=value may stand before it)
    $> hone ...                 compare standard output alone; plain '$' compares both, in order
    $ sh: hone a | head -n 1    run a shell line (hone is on its PATH)
    $ terminal: hone generate   run on a terminal of 80 columns
    $ same A B                  the files A and B have the same bytes; FILE#key is a value in a JSON file
    $ close A B 1e-5            the numbers A and B, or lists of them, differ by at most this share of B
    $ more A B                  the number A is larger than the number B
    $ json FILE key... -> 1 "x" the values of these keys, as JSON with blanks between, are these
    $ files DIR                 the names in a folder, sorted, one a line; folders end in '/'
    $ set FILE key VALUE        changes a value of a JSON file; FILE may be new
    + more                      continues the line before it, after one blank
    < text                      lines for its standard input
    expected output             '...' in a line stands for any text, a line '...' for any lines;
                                a leading '\\' is dropped, so '\\# x' and '\\$ x' can be expected
    (nothing)                   it must print nothing; no expected lines at all: output is not compared
    ? 1                         exit status (0 when not given)

A key is a path such as log_history.0.loss. '*' stands for every element that has the rest of the
path, '@keys' for the sorted keys of an object, '@len' for the number of elements, '@sum' and '@max'
for these of its numbers; after a '*' they are of what it found. A .jsonl file is
the list of its rows. No line of a transcript is longer than 120 columns, and none holds Python:
what a transcript needs beyond these lines is a program of its own in tests/support.

A configuration (tests/configs/*.txt) runs transcripts again with other settings; what they must print
stays the same. Its lines: '# comment', 'NAME=value' for the environment (HONE_THREADS=1 gives every
command --threads 1 unless it says another), 'needs: gpu' or 'needs: xla_cpu' (skip without one), 'run: tests/runs/x.run'.
ctest has each under its name with the label nightly.

Variables: ${DATA}, ${SOURCE} (the repository), ${SUPPORT} (its tests/support), ${TMP} (the fresh folder), ${VENV_PYTHON} and the
names of tests/variables.txt. Exit status: 0 passed, 1 failed, 77 everything was skipped.
"""
import argparse
import difflib
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from transcript import Transcript, matches, wrap

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SKIPPED = 77
VERBS = ("same", "close", "more", "json", "files", "set")


def dump(value):
    return json.dumps(value, ensure_ascii=False)


def look_up(value, path):
    """The value at a path of keys; raises KeyError. See the head of this file."""
    if not path:
        return value
    key, rest = path[0], path[1:]
    if key == "@keys":
        return look_up(sorted(value), rest)
    if key == "@len":
        return look_up(len(value), rest)
    if key in ("@sum", "@max"):
        numbers = list(value.values()) if isinstance(value, dict) else value
        return look_up(sum(numbers) if key == "@sum" else max(numbers), rest)
    if key == "*":
        found, many = [], next((i for i, k in enumerate(rest) if k[:1] == "@"), len(rest))
        for element in value.values() if isinstance(value, dict) else value:
            try:
                found.append(look_up(element, rest[:many]))
            except (KeyError, IndexError, TypeError):
                pass
        return look_up(found, rest[many:])
    return look_up(value[int(key)] if isinstance(value, list) else value[key], rest)


class Refused(Exception):
    """What a verb found to be otherwise."""


class Verbs:
    """The lines that look at files: each gets its words and returns what it prints."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def load(self, name):
        text = self.read(name).decode()
        if name.endswith(".jsonl"):
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        return json.loads(text)

    def value(self, word):
        name, key = word.split("#", 1)
        try:
            return look_up(self.load(name), key.split(".") if key else [])
        except (KeyError, IndexError, TypeError, ValueError):
            raise Refused(f"{name} has no {key}") from None

    def same(self, words):
        first, second = words
        if "#" in first or "#" in second:
            a, b = self.value(first), self.value(second)
            if a != b:
                raise Refused(f"{first} is {dump(a)[:200]}, {second} is {dump(b)[:200]}")
            return ""
        a, b = self.read(first), self.read(second)
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            raise Refused(f"{first} ({len(a)} bytes) and {second} ({len(b)} bytes) differ at byte {at}")
        return ""

    def close(self, words):
        first, second, share = words
        numbers = [self.value(w) if "#" in w else float(w) for w in (first, second)]
        a, b = [n if isinstance(n, list) else [n] for n in numbers]
        if not a or len(a) != len(b):
            raise Refused(f"{first} has {len(a)} numbers, {second} has {len(b)}")
        for i, (x, y) in enumerate(zip(a, b)):
            if not abs(x - y) <= float(share) * abs(y):
                raise Refused(f"number {i}: {x!r} of {first} is not within {share} of {y!r} of {second}")
        return ""

    def more(self, words):
        first, second = words
        a, b = [self.value(w) if "#" in w else float(w) for w in words]
        if not a > b:
            raise Refused(f"{first} is {a!r}, {second} is {b!r}")
        return ""

    def json(self, words):
        values = [dump(self.value(words[0] + "#" + key)) for key in words[1:]]
        return "".join(v + "\n" for v in values)

    def files(self, words):
        names = sorted(os.listdir(self.path(words[0])))
        return "".join(n + ("/" if os.path.isdir(self.path(os.path.join(words[0], n))) else "") + "\n"
                       for n in names)

    def set(self, words):
        name, key, text = words
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        document = self.load(name) if os.path.exists(self.path(name)) else {}
        *folders, last = key.split(".")
        holder = look_up(document, folders)
        holder[int(last) if isinstance(holder, list) else last] = value
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(json.dumps(document, ensure_ascii=False, indent=2))
        return ""


class Runner:
    def __init__(self, options):
        self.hone = os.path.abspath(options.hone)
        data = os.environ.get("HONE_DATA") or os.path.join(SOURCE, "..", "shared", "data")
        self.data = os.path.abspath(data)
        self.python = os.environ.get("HONE_VENV_PYTHON", "")
        self.keep = options.keep
        self.settings = {}

    def missing(self, need):
        if need == "data":
            return None if os.path.isdir(self.data) else f"no folder {self.data} (set HONE_DATA)"
        if need == "venv":
            return None if self.python else "HONE_VENV_PYTHON names no Python with Transformers"
        if need == "network":
            return None if os.environ.get("HONE_TEST_NETWORK") else "HONE_TEST_NETWORK is not set"
        if need == "xla_cpu":
            return None if has_plugin(self.hone) else NO_PLUGIN
        if need.startswith("program/"):
            program = need[8:]
            return None if shutil.which(program) else f"there is no {program}; Debian's package of this name has it"
        if need.startswith("data/"):
            path = os.path.join(self.data, need[5:])
            return None if os.path.exists(path) else f"no {path}"
        return f"unknown need '{need}'"

    def variables(self, folder):
        v = {"DATA": self.data, "SOURCE": SOURCE, "SUPPORT": os.path.join(SOURCE, "tests", "support"),
             "TMP": folder, "VENV_PYTHON": self.python}
        path = os.path.join(SOURCE, "tests", "variables.txt")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                for line in f:
                    if "=" in line and not line.startswith("#"):
                        name, value = line.split("=", 1)
                        v[name.strip()] = self.fill(value.strip(), v)
        return v

    @staticmethod
    def fill(text, variables):
        return re.sub(r"\$\{(\w+)\}", lambda m: variables.get(m.group(1), m.group(0)), text)

    def environment(self, folder):
        keep = ("PATH", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "HONE_DATA",
                "HONE_VENV_PYTHON", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "HONE_NVRTC", "HONE_CUBLASLT", "HONE_PJRT",
                "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "OMP_WAIT_POLICY")
        env = {k: v for k, v in os.environ.items() if k in keep}
        env.update(HOME=folder, HF_HOME=os.path.join(folder, ".hf"), LC_ALL="C.UTF-8", TERM="xterm",
                   HF_HUB_OFFLINE="1", TMPDIR=folder, PATH=self.bin + ":" + env.get("PATH", ""))
        # The machine's speed is measured once for all of them.
        env["HONE_CACHE"] = os.path.join(os.path.dirname(os.path.realpath(self.hone)), "..", "test-cache")
        env.update(self.settings)
        return env

    def file(self, path):
        name = os.path.relpath(path, SOURCE)
        try:
            t = Transcript(path)
        except ValueError as e:
            print(f"FAIL {e}")
            return 1
        for need in t.needs:
            reason = self.missing(need)
            if reason:
                print(f"skipped: {reason} ({name})")
                return SKIPPED
        folder = tempfile.mkdtemp(prefix="hone_run_")
        self.bin = tempfile.mkdtemp(prefix="hone_bin_")
        os.symlink(self.hone, os.path.join(self.bin, "hone"))
        self.groups = []
        try:
            variables = self.variables(folder)
            env = self.environment(folder) | t.env
            for step in t.steps:
                if isinstance(step, tuple):
                    target = os.path.join(folder, self.fill(step[0], variables))
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    with open(target, "w", encoding="utf-8", newline="") as f:
                        f.write(self.fill(step[1], variables))
                elif not self.command(name, step, t.timeout, folder, variables, env):
                    return 1
        finally:
            for group in self.groups:
                try:
                    os.killpg(group, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            shutil.rmtree(self.bin, ignore_errors=True)
            if self.keep:
                print(f"kept {folder}")
            else:
                shutil.rmtree(folder, ignore_errors=True)
        print(f"PASS {name}")
        return 0

    def command(self, name, c, timeout, folder, variables, env):
        line = self.fill(c.line, variables)
        where = f"{name}:{c.number}: $ {c.line}"
        if line.split(" ", 1)[0] in VERBS:
            return self.verb(where, line, c, folder, variables)
        terminal = line.startswith("terminal: ")
        env = dict(env)
        if terminal:
            line = line[len("terminal: "):]
        if line.startswith("sh: "):
            argv = ["bash", "-c", line[len("sh: "):]]
        else:
            argv = shlex.split(line)
            while argv and re.match(r"[A-Za-z_]\w*=", argv[0]):
                key, value = argv.pop(0).split("=", 1)
                env[key] = value
            if not argv or argv[0] != "hone":
                print(f"FAIL {where}\n  a command starts with 'hone' or 'sh:'")
                return False
            argv[0] = self.hone
        stdin = "".join(self.fill(s, variables) + "\n" for s in c.stdin).encode()
        run = self.on_terminal if terminal else self.plain
        status, output, errors = run(argv, stdin, timeout, folder, env, c.stdout_only)
        text = output.decode("utf-8", "replace")
        actual = text.split("\n")
        if actual and actual[-1] == "":
            actual.pop()
        expected = [self.fill(e, variables) for e in c.expected]
        good = True
        if expected == ["(nothing)"]:
            good = not actual
        elif expected:
            good = matches(expected, actual)
        if good and status == c.status:
            return True
        print(f"FAIL {where}")
        if status is None:
            print(f"  still running after {timeout} s")
        elif status != c.status:
            print(f"  exit status {status}, expected {c.status}")
        if not good:
            print("  expected (-) and printed (+), '...' stands for anything:")
            for d in list(difflib.unified_diff(expected, actual, lineterm="", n=3))[2:]:
                print("    " + d)
        else:
            print("  printed:")
            for a in actual[-40:]:
                print("    " + a)
        if errors:
            print("  standard error:")
            for e in errors.decode("utf-8", "replace").split("\n")[-40:]:
                print("    " + e)
        return False

    def verb(self, where, line, c, folder, variables):
        line, arrow, wanted = line.partition(" -> ")
        words = shlex.split(line)
        expected = [self.fill(e, variables) for e in c.expected]
        try:
            printed = getattr(Verbs(folder), words[0])(words[1:]).splitlines()
        except (OSError, ValueError, Refused) as e:
            print(f"FAIL {where}\n  {e}")
            return False
        if arrow:
            expected, printed = [wanted], [" ".join(printed)]
        if not expected or matches(expected, printed):
            return True
        print(f"FAIL {where}\n  expected (-) and found (+):")
        for d in list(difflib.unified_diff(expected, printed, lineterm="", n=3))[2:]:
            print("    " + d)
        return False

    def plain(self, argv, stdin, timeout, folder, env, stdout_only):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, \
             tempfile.TemporaryFile() as inp:
            inp.write(stdin)
            inp.seek(0)
            p = subprocess.Popen(argv, stdin=inp, stdout=out, cwd=folder, env=env,
                                 stderr=err if stdout_only else subprocess.STDOUT,
                                 start_new_session=True)
            self.groups.append(p.pid)
            try:
                status = p.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
                status = None
            out.seek(0)
            err.seek(0)
            return status if status is None or status >= 0 else 128 - status, out.read(), err.read()

    def on_terminal(self, argv, stdin, timeout, folder, env, stdout_only):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, env)
        self.groups.append(pid)
        import fcntl
        import termios
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.write(fd, stdin)
        output, until, status = b"", time.monotonic() + timeout, None
        while time.monotonic() < until:
            if select.select([fd], [], [], 0.1)[0]:
                try:
                    piece = os.read(fd, 65536)
                except OSError:
                    piece = b""
                if piece:
                    output += piece
                    continue
                _, raw = os.waitpid(pid, 0)
                status = os.waitstatus_to_exitcode(raw)
                break
        if status is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(fd)
        return status, output.replace(b"\r\n", b"\n"), b""


def configuration(path):
    """The environment and the transcripts that a file of tests/configs names."""
    settings, files, needs = {}, [], ""
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f.read().splitlines(), 1):
            if m := re.fullmatch(r"(HONE_[A-Z0-9_]+)=(.*)", line):
                settings[m.group(1)] = m.group(2)
            elif m := re.fullmatch(r"run: (\S+)", line):
                files.append(os.path.join(SOURCE, m.group(1)))
            elif m := re.fullmatch(r"needs: (gpu|xla_cpu)", line):
                needs = m.group(1)
            elif line and not line.startswith("#"):
                raise SystemExit(f"{path}:{number}: neither a comment, NAME=value, 'needs: gpu|xla_cpu' nor 'run: FILE'")
    return settings, files, needs


def doctor(hone):
    said = subprocess.run([hone, "doctor", "--json"], capture_output=True, text=True, check=False)
    return json.loads(said.stdout)


def has_gpu(hone):
    return any(gpu["usable"] for gpu in doctor(hone)["gpus"])


NO_PLUGIN = "hone doctor names no PJRT plug-in for the CPU: pip install xla-cpu-pjrt"


def has_plugin(hone):
    return any(found["device"] == "xla_cpu" for found in doctor(hone)["pjrt"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--keep", action="store_true", help="keep the folder a file ran in")
    parser.add_argument("--config", help="a file of tests/configs")
    parser.add_argument("--wrap", action="store_true", help="break long lines of these files")
    options = parser.parse_args()
    files = options.files
    if options.wrap:
        for f in files:
            wrap(f)
        return 0
    settings = {}
    if options.config:
        settings, named, needs = configuration(options.config)
        files = files or named
        if needs == "gpu" and not has_gpu(options.hone):
            print("skipped: hone doctor names no GPU that it uses")
            return SKIPPED
        if needs == "xla_cpu" and not has_plugin(options.hone):
            print(f"skipped: {NO_PLUGIN}")
            return SKIPPED
    if not files:
        files = sorted(os.path.join(at, f) for at, _, names in os.walk(os.path.join(SOURCE, "tests"))
                       for f in names if f.endswith(".run"))
    if not os.access(options.hone, os.X_OK):
        print(f"no program at {options.hone}: make build")
        return 1
    runner = Runner(options)
    runner.settings = settings
    results = [runner.file(os.path.abspath(f)) for f in files]
    if any(r == 1 for r in results):
        return 1
    return SKIPPED if results and all(r == SKIPPED for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
