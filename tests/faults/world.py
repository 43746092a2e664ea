#!/usr/bin/env python3
"""What the world does to a training run: the disk is full, a folder cannot be written, files vanish
or are cut short, signals come. Each time: one clear error (or none), the right exit status, nothing
that was saved is damaged, and the same command typed again ends with the bits of a run without
faults, leaving no temporary files.

    tests/faults/world.py --hone build/hone

A full and a read-only file system need `mount` (root); without it these two say that they are skipped.
"""
import argparse
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from kill_resume import STEPS, SOURCE, command, names, prepare, result, unreadable

sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from checks import Fault, Skipped, demand  # noqa: E402


class World:
    def __init__(self, hone, folder):
        self.hone, self.folder = hone, folder
        prepare(folder)
        demand(self.run("whole").returncode == 0, "the run without faults failed")
        self.wanted = result(folder, "whole")

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def run(self, out, *more, **options):
        return subprocess.run([*command(self.hone, out), *more], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, **options)

    def start(self, out, until, *more):
        """A run that has printed `until`."""
        log = open(self.path("log"), "w")
        process = subprocess.Popen([*command(self.hone, out), *more], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while process.poll() is None and until not in open(log.name).read():
            time.sleep(0.001)
        return process

    def log(self):
        return open(self.path("log")).read()

    def expect_error(self, run, code, *words):
        demand(run.returncode == 1, f"status {run.returncode} instead of 1:\n{run.stderr}")
        found = re.findall(r"^(H\d{4})  ", run.stderr, re.M)
        demand(found == [code], f"errors {found} instead of one {code}:\n{run.stderr}")
        for word in words:
            demand(word in run.stderr, f"'{word}' is not named:\n{run.stderr}")

    def expect_whole(self, out):
        broken = unreadable(self.path(out))
        demand(not broken, f"not readable: {broken}")

    def expect_same_end(self, out, *more, apart=()):
        run = self.run(out, *more)
        demand(run.returncode == 0, f"the next run ended with {run.returncode}:\n{run.stderr}")
        found = result(self.folder, out)
        for name, bytes_ in self.wanted.items():
            demand(name in apart or found[name] == bytes_, f"{name} differs")
        left = [n for n in names(self.path(out)) if any(mark in n for mark in (".tmp", "-tmp", ".old", ".del"))]
        demand(not left, f"leftovers: {left}")


def mounted(w, name, options):
    os.makedirs(w.path(name), exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", w.path(name)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skipped("mount: " + done.stderr.strip())


def size_of(path):
    return sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(path) for f in files)


def disk_full(w):
    """A disk that is too small is refused before the first step; one that others fill ends the run later."""
    checkpoint = size_of(w.path("whole", f"checkpoint-{STEPS}"))
    try:
        mounted(w, "small", f"size={checkpoint * 3 // 2 + (64 << 10)}")
        w.expect_error(w.run("small/out"), "H2425", "small/out")
        subprocess.run(["mount", "-o", "remount,size=64m", w.path("small")], check=True)
        process = w.start("small/out", "train       step 6/")
        process.send_signal(signal.SIGSTOP)
        demand("checkpoint-4" in names(w.path("small/out")), "step 6 has come without a checkpoint")
        with open(w.path("small", "of_others"), "wb") as f:
            free = os.statvfs(w.path("small"))
            f.write(bytes(free.f_bavail * free.f_frsize - checkpoint // 2))
        process.send_signal(signal.SIGCONT)
        demand(process.wait() == 1, f"status {process.returncode} instead of 1:\n{w.log()}")
        demand(re.findall(r"^(H\d{4})  ", w.log(), re.M) == ["H0103"] and "checkpoint-8" in w.log(), f"not one H0103:\n{w.log()}")
        w.expect_whole("small/out")
        demand("checkpoint-4" in names(w.path("small/out")), "the checkpoint before is gone")
        os.remove(w.path("small", "of_others"))
        w.expect_same_end("small/out")
    finally:
        subprocess.run(["umount", w.path("small")], capture_output=True)


def files_limited(w):
    """ulimit -f: a file may grow so far and no further (the system also sends SIGXFSZ)."""
    size = os.path.getsize(w.path("whole", "model.safetensors")) * 3 // 2  # the moments are twice as large
    run = w.run("limited", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    w.expect_error(run, "H0103", "optimizer.safetensors")
    w.expect_whole("limited")
    w.expect_same_end("limited")


def read_only(w):
    try:
        mounted(w, "fixed", "size=64m")
        process = w.start("fixed/out", "saved       fixed/out/checkpoint-4")
        demand(subprocess.run(["mount", "-o", "remount,ro", w.path("fixed")], capture_output=True).returncode in (0, 32), "remount")
        process.wait()  # it may have had a file open for writing, then the remount was refused
        if process.returncode != 0:
            demand(process.returncode == 1 and "H0102" in w.log(), f"status {process.returncode}:\n{w.log()}")
            w.expect_whole("fixed/out")
        subprocess.run(["mount", "-o", "remount,ro", w.path("fixed")], check=True)
        w.expect_error(w.run("fixed/new"), "H0102", "fixed/new")
        subprocess.run(["mount", "-o", "remount,rw", w.path("fixed")], check=True)
        w.expect_same_end("fixed/out")
    finally:
        subprocess.run(["umount", w.path("fixed")], capture_output=True)


def offloaded_to(folder):
    """Flags of a run that keeps all it can in a file of the folder."""
    return ["--offload_optimizer_nvme_path", folder, "--offload_persistence_threshold", "0",
            *(word for what in ("optimizer", "param", "gradient", "activation") for word in (f"--offload_{what}_device", "nvme"))]


def offload_disk_full(w):
    """Less room than the plan takes of the disk is seen before the first step, and so is a disk that refuses the file."""
    try:
        mounted(w, "little", "size=256k")
        w.expect_error(w.run("refused", *offloaded_to("little")), "H2404", "disk: ", "little")
        subprocess.run(["mount", "-o", "remount,size=64m", w.path("little")], check=True)
        w.expect_same_end("refused", *offloaded_to("little"))
        demand(not names(w.path("little")), f"left: {names(w.path('little'))}")
    finally:
        subprocess.run(["umount", w.path("little")], capture_output=True)


def offload_file_limited(w):
    """ulimit -f: the file is longer than a file may be."""
    limit = 1 << 20
    run = w.run("longer", *offloaded_to("offloaded"), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    w.expect_error(run, "H1322", "offloaded", "File too large")
    demand(not names(w.path("longer")) or "checkpoint-4" not in names(w.path("longer")), "a step was made")
    w.expect_same_end("longer", *offloaded_to("offloaded"))


def fill(path):
    """A file that takes all room of its disk."""
    with open(path, "wb", buffering=0) as f:
        try:
            while True:
                f.write(bytes(1 << 12))
        except OSError:
            pass


def offload_disk_fills(w):
    """The room of the file is taken before the first step: a disk that others fill later is no fault."""
    try:
        mounted(w, "shared", "size=24m")
        process = w.start("filled", "train       step 2/", *offloaded_to("shared"))
        process.send_signal(signal.SIGSTOP)
        fill(w.path("shared", "all"))
        process.send_signal(signal.SIGCONT)
        demand(process.wait() == 0, f"status {process.returncode}:\n{w.log()}")
        w.expect_same_end("filled")
    finally:
        subprocess.run(["umount", w.path("shared")], capture_output=True)


def offload_file_of(pid, folder):
    """The file without a name, by a name that the system gives it."""
    for fd in names(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{fd}"
        try:
            if os.readlink(path).startswith(folder) and stat.S_ISREG(os.stat(path).st_mode):
                return path
        except OSError:
            continue
    raise Fault(f"no open file in {folder}")


def offload_file_cut(w):
    """Another program cuts the file short, or makes a hole in it: one error, nothing of it is saved."""
    def cut(path):
        os.truncate(path, os.path.getsize(path) // 2)

    def emptied_and_long_again(path):
        size = os.path.getsize(path)
        os.truncate(path, 0)
        os.truncate(path, size)

    for fault in (cut, emptied_and_long_again):
        out = fault.__name__
        process = w.start(out, "train       step 6/", *offloaded_to("offloaded"))
        process.send_signal(signal.SIGSTOP)
        late = "checkpoint-8" in names(w.path(out))  # this program was slow to stop it
        fault(offload_file_of(process.pid, w.path("offloaded")))
        process.send_signal(signal.SIGCONT)
        demand(process.wait() == 1, f"{out}: status {process.returncode}:\n{w.log()}")
        demand(re.findall(r"^(H\d{4})  ", w.log(), re.M) == ["H1323"] and "offloaded" in w.log(), f"{out}:\n{w.log()}")
        w.expect_whole(out)
        demand("checkpoint-4" in names(w.path(out)) and ("checkpoint-8" in names(w.path(out))) <= late, f"{out}: {names(w.path(out))}")
        w.expect_same_end(out, *offloaded_to("offloaded"))


def offload_disk_breaks(w):
    """I/O errors: what the ext4 of a loop device is made of is lost, and there is no room to make it again."""
    image, device = w.path("image"), ""
    try:
        mounted(w, "below", "size=64m")
        image = w.path("below", "image")
        with open(image, "wb") as f:
            f.truncate(32 << 20)
        made = subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", image], capture_output=True, text=True)
        loop = made.returncode == 0 and subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True)
        if not loop or loop.returncode != 0:
            raise Skipped("loop device: " + (loop.stderr.strip() if loop else "no mkfs.ext4"))
        device = loop.stdout.strip()
        os.makedirs(w.path("broken"))
        if subprocess.run(["mount", device, w.path("broken")], capture_output=True).returncode != 0:
            raise Skipped("mount")
        process = w.start("io_error", "train       step 6/", *offloaded_to("broken/states"))
        process.send_signal(signal.SIGSTOP)
        os.truncate(image, 64 << 10)
        fill(w.path("below", "all"))  # so what is written from now on is an I/O error
        subprocess.run(["sync", "-f", w.path("broken")], capture_output=True)
        process.send_signal(signal.SIGCONT)
        demand(process.wait() == 1, f"status {process.returncode}:\n{w.log()}")
        demand(re.findall(r"^(H\d{4})  ", w.log(), re.M) == ["H1323"] and "broken/states" in w.log(), w.log())
        w.expect_whole("io_error")
        demand("checkpoint-4" in names(w.path("io_error")), f"{names(w.path('io_error'))}")
        w.expect_same_end("io_error", *offloaded_to("offloaded"))
    finally:
        subprocess.run(["umount", "-l", w.path("broken")], capture_output=True)
        if device:
            subprocess.run(["losetup", "-d", device], capture_output=True)
        subprocess.run(["umount", "-l", w.path("below")], capture_output=True)


def inputs_vanish(w):
    """After they were read, data and weights may go."""
    kept = w.path("kept")
    os.makedirs(kept)
    process = w.start("vanish", "microbatch")
    process.send_signal(signal.SIGSTOP)
    for name in ("train.jsonl", "validation.jsonl"):
        shutil.move(w.path(name), kept)
    process.send_signal(signal.SIGCONT)
    try:
        demand(process.wait() == 0, f"status {process.returncode}:\n{w.log()}")
        missing = w.run("missing")
        w.expect_error(missing, "H0101" if "H0101" in missing.stderr else "H2101", "train.jsonl")
        demand(not os.path.exists(w.path("missing", "model.safetensors")), "a model was saved")
    finally:
        for name in os.listdir(kept):
            shutil.move(os.path.join(kept, name), w.folder)
    w.expect_same_end("vanish")


def weights_cut_short(w):
    path = w.path("model", "model.safetensors")
    shutil.copy(path, w.path("good"))
    os.truncate(path, os.path.getsize(path) - 100)
    run = w.run("cut")
    shutil.move(w.path("good"), path)
    demand(run.returncode == 1 and len(re.findall(r"^H\d{4}  ", run.stderr, re.M)) == 1, f"status {run.returncode}:\n{run.stderr}")
    demand("model.safetensors" in run.stderr, f"the file is not named:\n{run.stderr}")


def shards_change(w):
    """Token shards are mapped. Cut short or written into, they are one error; a new file of the name does no harm."""
    made = subprocess.run([w.hone, "prepare", "--task", "clm", "--model_name_or_path", "model", "--train_file", "train.jsonl",
                           "--validation_file", "validation.jsonl", "--packing", "--block_size", "32", "--output_dir", "shards"],
                          cwd=w.folder, capture_output=True, text=True)
    demand(made.returncode == 0, made.stderr)
    shard = w.path("shards", "train", "data-00000.arrow")
    with open(shard, "rb") as f:
        good, times = f.read(), os.stat(shard)
    shards = ("--train_file", "shards", "--validation_file", "shards")

    def cut_short():
        os.truncate(shard, 0)

    def overwritten():
        with open(shard, "r+b") as f:
            f.write(bytes(len(good)))

    def put_back():
        with open(shard, "wb") as f:
            f.write(good)
        os.utime(shard, ns=(times.st_atime_ns, times.st_mtime_ns))

    for fault in (cut_short, overwritten):
        out = fault.__name__
        process = w.start(out, "train       step 6/", *shards)
        process.send_signal(signal.SIGSTOP)
        fault()
        process.send_signal(signal.SIGCONT)
        demand(process.wait() == 1, f"{out}: status {process.returncode}:\n{w.log()}")
        demand(re.findall(r"^(H\d{4})  ", w.log(), re.M) == ["H0117"] and shard[len(w.folder) + 1:] in w.log(), f"{out}:\n{w.log()}")
        w.expect_whole(out)
        demand("checkpoint-4" in names(w.path(out)), f"{out}: the checkpoint is gone")
        put_back()
        w.expect_same_end(out, *shards)

    process = w.start("replaced", "train       step 6/", *shards)
    process.send_signal(signal.SIGSTOP)
    with open(shard + ".new", "wb") as f:
        f.write(b"another file")
    os.rename(shard + ".new", shard)
    process.send_signal(signal.SIGCONT)
    demand(process.wait() == 0, f"replaced: status {process.returncode}:\n{w.log()}")
    put_back()
    w.expect_same_end("replaced", *shards)


def checkpoint_damaged(w):
    """The newest checkpoint loses a file: the one before is taken. Asked for by name: an error."""
    process = w.start("damaged", "saved       damaged/checkpoint-12")
    process.kill()
    process.wait()
    os.remove(w.path("damaged", "checkpoint-12", "optimizer.safetensors"))
    asked = w.run("damaged2", "--resume_from_checkpoint", "damaged/checkpoint-12")
    w.expect_error(asked, "H2212", "optimizer.safetensors", "checkpoint-12")
    weights = w.path("damaged", "checkpoint-8", "model.safetensors")
    w.expect_same_end("damaged")
    demand(not os.path.exists(weights), "checkpoint-8 was not rotated away")


def folder_vanishes(w):
    """Deleted, renamed or replaced: one error, and the state is kept beside it; from there the run ends with the same bits."""
    def deleted(path):
        shutil.rmtree(path)

    def renamed(path):
        os.rename(path, path + "_moved")

    def replaced(path):
        shutil.rmtree(path)
        os.makedirs(path)

    for fault in (deleted, renamed, replaced):
        for attempt in range(10):
            out = f"{fault.__name__}{attempt}"
            process = w.start(out, f"saved       {out}/checkpoint-4")
            process.send_signal(signal.SIGSTOP)
            in_time = "train metrics" not in w.log()
            fault(w.path(out))
            process.send_signal(signal.SIGCONT)
            if process.wait() == 1 or in_time:
                break  # else this program was slow to stop it
        demand(process.returncode == 1, f"{out}: status {process.returncode}:\n{w.log()}")
        demand(re.findall(r"^(H\d{4})  ", w.log(), re.M) == ["H2429"], f"{out}: not one H2429:\n{w.log()}")
        kept = re.findall(rf"do .*--resume_from_checkpoint ({out}\.kept/checkpoint-\d+)", w.log())
        demand(kept, f"{out}: the checkpoint is not named:\n{w.log()}")
        w.expect_whole(out + ".kept")
        # A checkpoint that was being written when the folder went may be there, whole.
        demand(len(names(w.path(out))) <= 1, f"{out}: something was written there: {names(w.path(out))}")
        w.expect_whole(out)
        # The best checkpoint so far is gone, which trainer_state.json says.
        w.expect_same_end(out, "--resume_from_checkpoint", kept[0], apart=("trainer_state.json",))


def started_at_once(w):
    """Three runs into one folder: one of them ends as if it were alone, the others are refused."""
    for round_ in range(8):
        out = f"at_once{round_}"
        runs = [subprocess.Popen(command(w.hone, out), cwd=w.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True) for _ in range(3)]
        said = [run.communicate()[1] for run in runs]
        codes = sorted(re.findall(r"^(H\d{4})  ", "".join(said), re.M))
        demand(sorted(run.returncode for run in runs) == [0, 1, 1], f"{[run.returncode for run in runs]}:\n" + "\n".join(said))
        demand(codes == ["H2403", "H2403"], f"{codes}:\n" + "\n".join(said))
        w.expect_same_end(out)


def stopped(w, out, number):
    process = w.start(out, "train       step 6/")
    process.send_signal(number)
    status = process.wait()
    demand(status == 128 + number, f"status {status}:\n{w.log()}")
    demand("the same command continues" in w.log(), w.log())
    w.expect_whole(out)
    demand(not any("tmp" in n for n in names(w.path(out))), f"temporary files: {names(w.path(out))}")
    w.expect_same_end(out)


def terminated(w):
    stopped(w, "terminated", signal.SIGTERM)


def interrupted(w):
    stopped(w, "interrupted", signal.SIGINT)


def interrupted_twice(w):
    process = w.start("twice", "train       step 6/")
    process.send_signal(signal.SIGSTOP)  # both are there before it can answer the first
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    time.sleep(0.0005)
    process.send_signal(signal.SIGINT)
    status = process.wait()
    demand(status == 130, f"status {status}:\n{w.log()}")
    w.expect_whole("twice")
    w.expect_same_end("twice")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--only", help="the name of one fault")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hone_world_")
    wrong = 0
    try:
        w = World(os.path.abspath(options.hone), folder)
        for fault in (disk_full, files_limited, read_only, offload_disk_full, offload_file_limited, offload_disk_fills, offload_file_cut,
                      offload_disk_breaks, inputs_vanish, weights_cut_short, shards_change, checkpoint_damaged, folder_vanishes,
                      started_at_once, terminated, interrupted, interrupted_twice):
            if options.only not in (None, fault.__name__):
                continue
            try:
                fault(w)
                print(f"{fault.__name__:<20} ok", flush=True)
            except Skipped as e:
                print(f"{fault.__name__:<20} skipped: {e}", flush=True)
            except Fault as e:
                wrong += 1
                print(f"{fault.__name__:<20} {e}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
