#!/usr/bin/env python3
# nightly: --all
"""Training on several emulated GPUs, a process each: the losses of one GPU, and no fault that hangs.

    tests/faults/ranks_on_gpus.py --hone build/hone [--all] [TEST...]

The ranks' fake NCCL compares the sizes of messages between processes, and the fake driver finds accesses that nothing orders: a
finding ends a rank with an error. Without --all few steps of one model.
"""
import argparse
import os
import shutil
import sys

from placement_bits import SOURCE
from ranks import World, chosen_tests, close, demand, run_tests

GPU = ["--device", "cuda_emulated"]


def losses(w, model, out, ranks, *more, accumulation=1):
    w.run(ranks, w.command(model, out, ranks, *more, accumulation=accumulation))
    found = w.losses(out)
    shutil.rmtree(w.path(out))
    return found


def rule_17_losses_are_those_of_one_gpu(w):
    """Also with --mesh, which has collectives in forward and backward; and near those of ranks on processors."""
    models = ("gpt2", "llama", "bert", "t5") if w.all else ("gpt2",)
    for model in models:
        for accumulation in (1, 2) if w.all else (1,):
            steps = ["--max_steps", "6" if w.all else "2"]
            one = losses(w, model, "one", 1, *GPU, *steps, accumulation=accumulation)
            worlds = [(2, s) for s in range(4)] + [(4, 0), (4, 3)] if w.all else [(2, 0), (2, 3)]
            for ranks, stage in worlds:
                if 12 // accumulation % ranks:
                    continue
                many = losses(w, model, "many", ranks, *GPU, *steps, "--zero_stage", str(stage), "--ddp_backend", "nccl", accumulation=accumulation)
                close(many, one, f"{model}, {ranks} GPUs, ZeRO {stage}, accumulation {accumulation}")
            if w.all:
                w.run(2, w.command(model, "mesh", 1, *GPU, *steps, "--mesh", "tensor=2", accumulation=accumulation))
                close(w.losses("mesh"), one, f"{model}, tensor=2")
                shutil.rmtree(w.path("mesh"))
            cpu = losses(w, model, "cpu", 2, *steps, accumulation=accumulation)
            close(one, cpu, f"{model}, a GPU and two processors", 1e-4)


def units_have_the_same_bits_on_any_number_of_gpus(w):
    """--split_invariant."""
    found = [losses(w, "gpt2", "units", ranks, *GPU, "--max_steps", "1", "--split_invariant", "2", "--zero_stage", "2") for ranks in ((1, 2, 3) if w.all else (1, 2))]
    demand(all(f == found[0] for f in found), f"{found}")


def rule_6_a_killed_rank_ends_the_others(w):
    """The collective at which they wait is named, and no finding of the fake driver follows."""
    processes = w.start(2, w.command("gpt2", "killed", 2, *GPU, "--max_steps", "1000", "--save_steps", "1000"))
    w.until(processes, "step 1/")
    processes[1].kill()
    statuses = w.wait(processes)
    demand(statuses[0] == 1 and "rank 1" in w.log(0) and "use of the CUDA driver is wrong" not in w.log(0), f"{statuses}\n{w.log(0)}")


def rule_2_engines_of_other_devices_are_refused(w):
    for engine, device in (("nccl", "cpu"), ("gloo", "cuda_emulated")):
        statuses = w.wait(w.start(2, w.command("gpt2", "refused", 2, "--ddp_backend", engine, "--device", device)))
        demand(all(statuses) and "H1501" in w.log(0) and f"{engine} carries no messages" in w.log(0), f"{statuses}\n{w.log(0)}")
        shutil.rmtree(w.path("refused"), ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(SOURCE, "build", "hone"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    tests = chosen_tests(globals(), ("rule_", "units_"), options.tests)
    return run_tests(tests, "hone_gpus_", lambda folder: World(os.path.abspath(options.hone), folder, options.all, 0))


if __name__ == "__main__":
    sys.exit(main())
