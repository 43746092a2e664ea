"""Training steps on one GPU by hone alone: time, MFU, launches, bytes, memory, and a table by op. With --write the page is
bench/results/<card>.md, which `make check-cuda` makes on any card."""
import argparse
import json
import pathlib
import re
import statistics
import subprocess

import common

ROWS, TOKENS = 8, 1024
CASES = {"GPT-2 124M": "gpt2", "GPT-2 XL": "gpt2-xl", "Llama, 1B": "llama-1b"}


def folder_of(name):
    import models  # needs PyTorch to make the weights
    return (models.llama_1b(False) if name == "llama-1b" else models.folder(0, False, name))[0]


def bench(options, folder, *more):
    command = [options.hone, "bench", "step", "--model_name_or_path", str(folder), "--bf16", "--no_dropout", "--json",
               "--device", options.device, "--batch", str(options.batch), "--block", str(options.block),
               "--steps", str(options.steps), *more]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measure(options, name, folder):
    """A row of the page, and the rows of its table by op."""
    said, profiled = bench(options, folder), bench(options, folder, "--profile")
    seconds = statistics.median(said["step_seconds"][1:])
    ops = profiled["ops"]
    rate = said["flops_per_step"] / seconds / 1e9
    planned, taken = said["planned_device_bytes"], said.get("taken_device_bytes")
    row = {"model": name, "rows": f"{options.batch} x {options.block}", "ms a step": f"{1e3 * seconds:.1f}",
           "TFLOP/s": f"{rate / 1e3:.3g}", "MFU": f"{100 * rate / said['matmul_gflops']:.1f} %",
           "launches": round(sum(op["launches"] for op in ops)),
           "GB moved": f"{sum(op['bytes'] for op in ops) / 1e9:.3g}", "planned MiB": round(planned / 2**20),
           "taken MiB": "" if taken is None else round(taken / 2**20), "loss": f"{said['loss'][-1]:.5f}"}
    total = sum(op["seconds"] for op in ops)
    table = [{"phase": op["phase"], "op": op["op"], "launches": round(op["launches"]), "ms": f"{1e3 * op['seconds']:.3f}",
              "share": f"{100 * op['seconds'] / total:.1f} %", "GB": f"{op['bytes'] / 1e9:.3g}",
              "GB/s": f"{op['bytes'] / op['seconds'] / 1e9:.0f}", "TFLOP/s": f"{op['flops'] / op['seconds'] / 1e12:.3g}"}
             for op in ops]
    return row, table, said


def page_of(card, cases):
    said = cases[0][2]
    text = (f"# {card}\n\nSteps of `hone bench step --bf16 --no_dropout`; {said['backend']}. The card multiplies "
            f"{said['matmul_gflops'] / 1e3:.3g} TFLOP/s in bf16 and moves {said['memory_gbytes']:.0f} GB/s (`hone bench`). MFU is "
            "of that product. Launches and bytes are those of the list of nodes; `taken MiB` is the driver's figure with its "
            "context and libraries. Times by op are of steps without a graph.\n\n")
    text += common.table([row for row, _, _ in cases]) + "\n"
    for row, table, _ in cases:
        text += f"\n## {row['model']}\n\n{common.table(table)}\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hone", default=str(common.ROOT / "build" / "hone"), help="the program to measure")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", help="folder of one model, instead of those of the page")
    parser.add_argument("--batch", type=int, default=ROWS)
    parser.add_argument("--block", type=int, default=TOKENS)
    parser.add_argument("--steps", type=int, default=8, help="the first one is not counted")
    parser.add_argument("--write", nargs="?", const=str(common.ROOT / "bench" / "results"), help="folder of the page")
    options = parser.parse_args()
    folders = {pathlib.Path(options.model).name: options.model} if options.model else {
        name: folder_of(model) for name, model in CASES.items()}
    cases = [measure(options, name, folder) for name, folder in folders.items()]
    card = cases[0][2]["backend"].split(",")[0]
    page = page_of(card, cases)
    print(page, end="")
    if options.write:
        stem = re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-")
        (pathlib.Path(options.write) / f"{stem}.md").write_text(page)


if __name__ == "__main__":
    main()
