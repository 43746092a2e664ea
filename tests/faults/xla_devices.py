#!/usr/bin/env python3
# nightly: --all
"""Devices of one process, a rank on each (--tpu_num_cores), through a PJRT plug-in for the CPU: the numbers of one device.

    tests/faults/xla_devices.py --hone build/hone [--all]

Losses of 20 steps and the evaluation differ from those of one device by the order of float32 sums alone, and a checkpoint continues on
any other number of devices and on the CPU's own kernels. Rows, labels and dropout are those of ranks that are processes (ranks.py). Vocabularies
and lengths of positions are not multiples of the number of devices. Without --all one model and one stage are run.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import placement_bits
from ranks import Fault, World, demand, with_flags

STEPS, ROWS, BOUND = 20, 16, 1e-6
LORA = ["--use_peft", "true", "--lora_r", "4", "--lora_target_modules", "all-linear"]


class Devices(World):
    def train(self, model, out, devices, stage=0, accumulation=1, steps=STEPS, more=(), device="xla_cpu"):
        argv = self.command(model, out, 1, "--device", device, "--per_device_train_batch_size", str(ROWS // accumulation // devices),
                            "--max_steps", str(steps), "--save_steps", "10", "--zero_stage", str(stage), *more, accumulation=accumulation)
        if devices > 1:
            argv = with_flags(argv, ["--tpu_num_cores", str(devices)])
        done = subprocess.run(argv, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
        if "H1361" in done.stderr:
            print("skipped: there is no PJRT plug-in for the CPU")
            sys.exit(77)
        demand(done.returncode == 0, f"{' '.join(argv)}\nstatus {done.returncode}\n{done.stderr}")
        demand(devices == 1 or f"ranks       {devices} in this process" in done.stderr, f"not {devices} ranks:\n{done.stderr}")
        return self.losses(out)

    def expect_losses(self, found, wanted, what):
        apart = max(abs(a - b) / abs(b) for (a, _), (b, _) in zip(found, wanted))
        norms = max(abs(a - b) / abs(b) for (_, a), (_, b) in zip(found, wanted))
        print(f"{what}: losses within {apart:.1e}, norms within {norms:.1e}", flush=True)
        demand(len(found) == len(wanted) and apart <= BOUND and norms <= 20 * BOUND, f"{what}:\n{found}\n{wanted}")


def losses_of_one_device(w, model, runs, more=()):
    """`runs`: (devices, stage, accumulation)."""
    kind = "lora" if more else "plain"
    for accumulation in sorted({a for _, _, a in runs}):
        wanted = w.train(model, "one", 1, accumulation=accumulation, more=more)
        for devices, stage, own in runs:
            if own != accumulation:
                continue
            found = w.train(model, "many", devices, stage, accumulation, more=more)
            w.expect_losses(found, wanted, f"{model}, {kind}, {devices} devices, ZeRO {stage}, accumulation {accumulation}")
            shutil.rmtree(w.path("many"))
        shutil.rmtree(w.path("one"))


def checkpoints_continue_anywhere(w, model, worlds):
    """`worlds`: (devices, stage) that continue a run of 8 devices; devices 0 is the CPU's own kernels."""
    wanted = w.train(model, "whole", 8, 1)
    for devices, stage in worlds:
        shutil.copytree(w.path("whole", "checkpoint-10"), w.path("rest", "checkpoint-10"))
        found = w.train(model, "rest", max(devices, 1), stage, device="xla_cpu" if devices else "cpu")
        demand(len(found) == STEPS, f"{len(found)} losses")
        w.expect_losses(found, wanted, f"{model}, 8 devices, then {devices or 'the CPU'}, ZeRO {stage}")
        shutil.rmtree(w.path("rest"))
    cpu = w.train(model, "cpu", 1, device="cpu")
    shutil.copytree(w.path("cpu", "checkpoint-10"), w.path("rest", "checkpoint-10"))
    w.expect_losses(w.train(model, "rest", 8, 3), cpu, f"{model}, the CPU, then 8 devices")
    shutil.rmtree(w.path("rest"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(placement_bits.SOURCE, "build", "hone"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keeps the folder of the runs")
    options = parser.parse_args()
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # compiles faster
    folder = tempfile.mkdtemp(prefix="hone_devices_")
    placement_bits.prepare(folder)
    os.environ["HONE_CACHE"] = os.path.join(folder, "cache")
    w = Devices(os.path.abspath(options.hone), folder, options.all, 0)
    try:
        if not options.all:
            losses_of_one_device(w, "gpt2", [(8, 0, 1)])
        else:
            runs = [(n, stage, a) for n in (2, 4, 8) for stage in range(4) for a in (1, 2)]
            for model in ("gpt2", "llama", "bert", "t5"):
                losses_of_one_device(w, model, runs)
                losses_of_one_device(w, model, [(8, 0, 1), (8, 2, 2), (8, 3, 1)], LORA)
                checkpoints_continue_anywhere(w, model, [(1, 0), (2, 3), (4, 2), (8, 0), (0, 0)])
    except Fault as fault:
        print(f"FAULT: {fault}\n{folder}")
        return 1
    if not options.keep:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
