#!/usr/bin/env python3
"""GPT-2's byte-level BPE over real text: `hone tokenize` against the HF tokenizers library, two threads, in pairs.

hone is charged for reading the file and printing the ids (less a run on one row: its start); the library only for
encode_batch on rows already in memory. The ids must be the same.
"""
import json
import os
import pathlib
import subprocess
import time

import common


def data_folder():
    return pathlib.Path(os.environ.get("HONE_DATA", common.ROOT.parent / "shared" / "data"))


def text_rows(megabytes):
    """Lines of real text: the data folder's where there is one, else the package descriptions of this machine."""
    data = data_folder()
    files = [data / "wikitext2" / "test.txt", data / "wikitext2" / "valid.txt", data / "tinyshakespeare" / "input.txt"]
    found = [path.read_text(encoding="utf-8") for path in files if path.exists()]
    if not found:
        found = [subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout]
    rows = [line for text in found for line in text.splitlines() if line.strip()]
    wanted, kept, size = megabytes * 2**20, [], 0
    while size < wanted:
        for row in rows:
            kept.append(row)
            size += len(row.encode())
            if size >= wanted:
                break
    return kept, size


def vocabulary(options):
    folder = pathlib.Path(options.tokenizer or data_folder() / "tok-gpt2")
    if not (folder / "vocab.json").exists():
        raise SystemExit(f"{folder} has no vocab.json: --tokenizer needs GPT-2's vocab.json and merges.txt")
    return folder


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--tokenizer", help="folder with vocab.json and merges.txt")
    parser.add_argument("--megabytes", type=int, default=16)
    options = parser.parse_args()
    common.limit_threads()
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers
    folder = vocabulary(options)
    rows, size = text_rows(1 if options.tiny else options.megabytes)
    common.FILES.mkdir(parents=True, exist_ok=True)
    many, one = common.FILES / "text.jsonl", common.FILES / "text-1.jsonl"
    many.write_text("".join(json.dumps(dict(text=row)) + "\n" for row in rows))
    one.write_text(json.dumps(dict(text=rows[0])) + "\n")
    peer = tokenizers.Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    peer.decoder = decoders.ByteLevel()
    peer.encode_batch(rows[:1000])
    expected = []

    def theirs():
        start = time.perf_counter()
        encoded = peer.encode_batch_fast(rows)
        seconds = time.perf_counter() - start
        expected[:] = [each.ids for each in encoded]
        return dict(seconds=seconds)

    def hone(path):
        return common.child([options.hone, "tokenize", "--model_name_or_path", str(folder), "--input", str(path),
                             "--threads", str(common.THREADS)])

    got = []

    def mine():
        _, start_up, _ = hone(one)
        output, seconds, peak = hone(many)
        got[:] = [output]
        return dict(seconds=seconds - start_up, peak=peak)

    def probe(work=400_000):
        """No matmul decides here: a plain loop shows the clock."""
        start = time.perf_counter()
        sum(range(work * 20))
        return work / (time.perf_counter() - start) / 1e3

    if options.only:
        seconds = (theirs if options.only == "peer" else mine)()["seconds"]
        return common.finish("Tokenizing", [{options.only + " MB/s": f"{size / seconds / 1e6:.1f}"}], {}, False)
    kept, retaken = common.pairs(options.pairs, options.retakes, probe, theirs, mine)
    ids = [json.loads(line)["ids"] for line in got[0].splitlines() if line]
    wrong = next((i for i, (a, b) in enumerate(zip(ids, expected)) if a != b), None)
    if wrong is not None or len(ids) != len(expected):
        raise SystemExit(f"ids differ at row {wrong}: {rows[wrong or 0]!r} ({len(ids)} rows, {len(expected)} expected)")
    seen = common.summary(kept)
    row = {"text": f"{size / 1e6:.0f} MB, {sum(map(len, ids))} tokens",
           "MB/s": f"{size / seen['peer_seconds'] / 1e6:.1f} / {size / seen['hone_seconds'] / 1e6:.1f}",
           "speed": f"{seen['speedup']:.2f}x", "ids": "equal",
           "pairs": f"{seen['steady_pairs']} steady of {len(kept)}, {retaken} retaken"}
    common.finish("GPT-2 tokenizing (HF tokenizers / hone)", [row], seen, options.write and not options.tiny)


if __name__ == "__main__":
    main()
