#!/usr/bin/env python3
"""Byte-level BPE (GPT-2), SentencePiece BPE (Llama 2), WordPiece (BERT) and Unigram (T5, mT5, Marian) over real text, two
threads, in pairs: `hone tokenize` against the HF tokenizers library and, for SentencePiece models, sentencepiece.

hone is charged for reading the file and printing the ids (less a run on one row: its start); the libraries only for
encoding rows already in memory. The ids must be the same.
"""
import json
import pathlib
import subprocess
import time

import common
from models import data_folder


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


def folder_of(options, given, name, file):
    folder = pathlib.Path(given or data_folder() / name)
    if not (folder / file).exists():
        print(f"{folder} has no {file}: left out")
        return None
    return folder


def gpt2_peer(folder):
    import tokenizers
    from tokenizers import models, pre_tokenizers
    peer = tokenizers.Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return peer.encode_batch_fast


def json_peer(folder):
    import tokenizers
    peer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    peer.no_truncation()
    peer.no_padding()
    return lambda rows: peer.encode_batch_fast(rows, add_special_tokens=False)


def sentencepiece_peer(model):
    import sentencepiece
    peer = sentencepiece.SentencePieceProcessor(model_file=str(model))
    return lambda rows: peer.encode(rows, num_threads=common.THREADS)


def marian_ids(folder):
    """What MarianTokenizer makes of the pieces of sentencepiece: ids of vocab.json."""
    import sentencepiece
    peer = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    ids = json.loads((folder / "vocab.json").read_text())
    return lambda rows: [[ids.get(piece, ids["<unk>"]) for piece in row] for row in peer.encode(rows, out_type=str)]


def probe(work=400_000):
    """No matmul decides here: a plain loop shows the clock."""
    start = time.perf_counter()
    sum(range(work * 20))
    return work / (time.perf_counter() - start) / 1e3


def measure(options, rows, tokenizer, encode, ids_of=None):
    """One row of the table: a peer's encode(rows) against hone's tokenizer (a folder or file). Where the peer's ids are not
    those of the model, ids_of(rows) gives them."""
    many, one = common.FILES / "text.jsonl", common.FILES / "text-1.jsonl"
    many.write_text("".join(json.dumps(dict(text=row)) + "\n" for row in rows))
    one.write_text(json.dumps(dict(text=rows[0])) + "\n")
    size = sum(len(row.encode()) for row in rows)
    expected, got = [], []

    def theirs():
        start = time.perf_counter()
        encoded = encode(rows)
        seconds = time.perf_counter() - start
        if ids_of is None:
            expected[:] = [getattr(each, "ids", each) for each in encoded]
        elif not expected:
            expected[:] = ids_of(rows)
        return dict(seconds=seconds)

    def hone(path):
        return common.child([options.hone, "tokenize", "--model_name_or_path", str(tokenizer), "--input", str(path),
                             "--threads", str(common.THREADS), "--add_special_tokens", "false",
                             "--split_special_tokens", str(str(tokenizer).endswith(".model"))])

    def mine():
        _, start_up, _ = hone(one)
        output, seconds, peak = hone(many)
        got[:] = [output]
        return dict(seconds=seconds - start_up, peak=peak)

    if options.only:
        seconds = (theirs if options.only == "peer" else mine)()["seconds"]
        return {options.only + " MB/s": f"{size / seconds / 1e6:.1f}"}, {}
    encode(rows[:1000])
    kept, retaken = common.pairs(options.pairs, options.retakes, probe, theirs, mine)
    ids = [json.loads(line)["ids"] for line in got[0].splitlines() if line]
    wrong = next((i for i, (a, b) in enumerate(zip(ids, expected)) if a != b), None)
    if wrong is not None or len(ids) != len(expected):
        raise SystemExit(f"ids differ at row {wrong}: {rows[wrong or 0]!r} ({len(ids)} rows, {len(expected)} expected)")
    seen = common.summary(kept)
    return {"text": f"{size / 1e6:.0f} MB, {sum(map(len, ids))} tokens",
            "MB/s": f"{size / seen['peer_seconds'] / 1e6:.1f} / {size / seen['hone_seconds'] / 1e6:.1f}",
            "speed": f"{seen['speedup']:.2f}x", "ids": "equal",
            "pairs": f"{seen['steady_pairs']} steady of {len(kept)}, {retaken} retaken"}, seen


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--tokenizer", help="folder with GPT-2's vocab.json and merges.txt")
    parser.add_argument("--sentencepiece", help="folder with Llama 2's tokenizer.json and tokenizer.model")
    parser.add_argument("--bert", help="folder with a tokenizer.json of BERT")
    parser.add_argument("--t5", help="folder with T5's tokenizer.json and spiece.model")
    parser.add_argument("--mt5", help="folder with mT5's spiece.model")
    parser.add_argument("--marian", help="folder with Marian's source.spm and vocab.json")
    parser.add_argument("--megabytes", type=int, default=16)
    options = parser.parse_args()
    common.limit_threads()
    common.FILES.mkdir(parents=True, exist_ok=True)
    rows, _ = text_rows(1 if options.tiny else options.megabytes)
    # A special token spelled in a row means different things to the two.
    plain = [row.replace("<unk>", "unk") for row in rows]
    table, details = [], {}

    def add(name, *what):
        row, seen = measure(options, *what)
        table.append({"tokenizer / peer": name, **row})
        details[name] = seen

    if folder := folder_of(options, options.tokenizer, "tok-gpt2", "vocab.json"):
        add("GPT-2 / HF tokenizers", rows, folder, gpt2_peer(folder))
    if folder := folder_of(options, options.sentencepiece, "tok-llama2", "tokenizer.model"):
        add("Llama 2 tokenizer.json / HF tokenizers", plain, folder / "tokenizer.json", json_peer(folder))
        add("Llama 2 tokenizer.model / sentencepiece", plain, folder / "tokenizer.model", sentencepiece_peer(folder / "tokenizer.model"))
    if folder := folder_of(options, options.bert, "tok-bert-uncased", "tokenizer.json"):
        add("BERT uncased / HF tokenizers", rows, folder / "tokenizer.json", json_peer(folder))
    if folder := folder_of(options, options.t5, "tok-t5", "spiece.model"):
        add("T5 tokenizer.json / HF tokenizers", plain, folder / "tokenizer.json", json_peer(folder))
        add("T5 spiece.model / sentencepiece", plain, folder / "spiece.model", sentencepiece_peer(folder / "spiece.model"))
    if folder := folder_of(options, options.mt5, "tok-mt5", "spiece.model"):
        add("mT5 spiece.model / sentencepiece", plain, folder / "spiece.model", sentencepiece_peer(folder / "spiece.model"))
    if folder := folder_of(options, options.marian, "tok-marian-en-mg", "source.spm"):
        add("Marian source.spm / sentencepiece", plain, folder, sentencepiece_peer(folder / "source.spm"), marian_ids(folder))
    if table:
        common.finish("Tokenizing (peer / hone)", table, details, options)


if __name__ == "__main__":
    main()
