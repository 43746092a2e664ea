#!/usr/bin/env python3
"""A folder that hone wrote loads in Transformers with the logits of the folder or GGUF it came from.

    check_roundtrip.py ORIGINAL [WRITTEN]     without WRITTEN: `hone convert ORIGINAL` makes it first

Every tensor must be equal bit for bit and no weight may be missing or left over; the logits of fixed ids must agree
within 1e-5 of their largest magnitude, and a tokenizer, where both have one, must give the same ids.
"""
import argparse
import pathlib
import subprocess
import tempfile

import common

TEXT = "The quick brown fox, 3 times; naïve café — 42 km/h.\n\n\tend"


def load(place):
    import torch
    import transformers
    transformers.logging.disable_progress_bar()
    path = pathlib.Path(place)
    where = dict(pretrained_model_name_or_path=path)
    if path.is_file():
        where = dict(pretrained_model_name_or_path=path.parent, gguf_file=path.name)
    model, seen = transformers.AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32,
                                                                    output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if seen.get(kind):
            raise SystemExit(f"{place}: {kind.replace('_', ' ')}: {sorted(map(str, seen[kind]))[:8]}")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
    except (OSError, ValueError, KeyError) as error:
        tokenizer = None
        print(f"{place}: no tokenizer ({str(error).splitlines()[0][:120]})")
    return model.eval(), tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("original")
    parser.add_argument("written", nargs="?")
    parser.add_argument("--hone", default=str(common.ROOT / "build" / "hone"))
    parser.add_argument("--trained", action="store_true", help="trained since: compare names and shapes alone")
    options = parser.parse_args()
    common.limit_threads()
    import torch
    with tempfile.TemporaryDirectory() as scratch:
        written = options.written or str(pathlib.Path(scratch) / "written")
        if not options.written:
            subprocess.run([options.hone, "convert", options.original, written], check=True, stdout=subprocess.DEVNULL)
        before, tokenizer_before = load(options.original)
        after, tokenizer_after = load(written)
    a, b = dict(before.named_parameters()), dict(after.named_parameters())
    for name in a:
        if name not in b or a[name].shape != b[name].shape:
            became = tuple(b[name].shape) if name in b else "nothing"
            raise SystemExit(f"{name}: {tuple(a[name].shape)} became {became}")
        if not options.trained and not torch.equal(a[name], b[name]):
            raise SystemExit(f"{name}: values differ by up to {(a[name] - b[name]).abs().max():.3e}")
    ids = torch.arange(48).reshape(1, -1) * 31 % before.config.vocab_size
    with torch.no_grad():
        x, y = before(input_ids=ids).logits, after(input_ids=ids).logits
    apart = ((x - y).abs().max() / x.abs().max()).item()
    if not options.trained and apart > 1e-5:
        raise SystemExit(f"logits differ by {apart:.2e} of their largest")
    if tokenizer_before and tokenizer_after:
        mine, theirs = tokenizer_after(TEXT)["input_ids"], tokenizer_before(TEXT)["input_ids"]
        if mine != theirs:
            raise SystemExit(f"tokenizers differ: {theirs} became {mine}")
    print(f"{len(a)} parameters, logits differ by {apart:.1e}")


if __name__ == "__main__":
    main()
