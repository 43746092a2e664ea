#!/usr/bin/env python3
"""Makes tests/goldens/tokenizers/encoders.json again: the tokenizer classes of encoders, as Transformers reads their files.
Transformers needs protobuf to read SentencePiece models.

    tools/golden_encoder_tokenizers.py [DATA]

  albert.model, deberta.model  small models trained here; CamemBERT's sentencepiece.bpe.model is unigram.model, MPNet's
                               vocab.txt is wordpiece.txt with other special tokens, DeBERTa's vocab.json mini.json
  encoders.json                ids and texts by class: rows of hard texts, hashes of random ones, a pair with its types

DATA (HONE_DATA, ../shared/data) is the folder with tinyshakespeare.
"""
import io
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import sentencepiece
from transformers import AutoTokenizer

import golden_unigram
from golden_tokenizers import fnv_rows, out, random_texts, root, write

TEXTS = golden_unigram.TEXTS[:24] + golden_unigram.TEXTS[-10:] + [
    "``quoted'' text", "Ünïcödé Åkerström café", "[CLS] a [MASK] b[MASK] c [SEP]", "<s> a <mask> b<mask> c </s>",
    "the  king\n\nof\tmen ", "  ", "e\u0301\u0302 n\u0303o", "<s>NOTUSED <pad>"]
PARTS = golden_unigram.PARTS + ["[MASK]", " [MASK]", "[CLS]", "<mask> ", "``", "''", "\u00e9", "\u0308", "king"]
SPECIAL = {"[PAD]": "<pad>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}
# class: (file, its golden, tokenizer_config.json)
CLASSES = {
    "AlbertTokenizer": ("spiece.model", "albert.model", {}),
    "AlbertTokenizer keeping": ("spiece.model", "albert.model", {"keep_accents": True, "do_lower_case": False}),
    "CamembertTokenizer": ("sentencepiece.bpe.model", "unigram.model", {}),
    "DebertaV2Tokenizer": ("spm.model", "deberta.model", {"do_lower_case": False, "vocab_type": "spm"}),
    "DebertaV2Tokenizer lower": ("spm.model", "deberta.model", {"do_lower_case": True}),
    "DebertaTokenizer": ("vocab.json", "mini.json", {"vocab_type": "gpt2"}),
    "MPNetTokenizer": ("vocab.txt", "wordpiece.txt", {}),
    "DistilBertTokenizer": ("vocab.txt", "wordpiece.txt", {"do_lower_case": True}),
    "ElectraTokenizer": ("vocab.txt", "wordpiece.txt", {"do_lower_case": True}),
}


def train(data, **options):
    lines = [line for line in (data / "tinyshakespeare/input.txt").read_text()[150000:250000].splitlines() if line.strip()]
    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.tsv"
        rules.write_text("".join("%s\t%s\n" % tuple(" ".join(f"{ord(c):X}" for c in s) for s in rule)
                                 for rule in golden_unigram.RULES.items()))
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, model_type="unigram", vocab_size=320, num_threads=1,
            normalization_rule_tsv=str(rules), minloglevel=2, **options)
    return model.getvalue()


def folder_of(kind, folder):
    file, golden, config = CLASSES[kind]
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind.split()[0], **config}))
    if kind == "DebertaTokenizer":
        mini = json.loads((out / golden).read_text())
        (folder / file).write_text(json.dumps({t: i for i, t in enumerate(["[CLS]", "[PAD]", "[SEP]", "[UNK]", *mini["tokens"]])}))
        (folder / "merges.txt").write_text("\n".join(mini["merges"]) + "\n")
    elif kind == "MPNetTokenizer":
        lines = (out / golden).read_text().split("\n")
        (folder / file).write_text("\n".join(SPECIAL.get(line, line) for line in lines))
    else:
        shutil.copy(out / golden, folder / file)


def hashes(decoded):
    return fnv_rows([list(text.encode()) for text in decoded])


def main():
    data = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HONE_DATA", root / "../shared/data"))
    (out / "albert.model").write_bytes(train(
        data, pad_id=0, unk_id=1, bos_id=2, eos_id=3, pad_piece="<pad>", unk_piece="<unk>", bos_piece="[CLS]",
        eos_piece="[SEP]", control_symbols=["[MASK]"]))
    (out / "deberta.model").write_bytes(train(
        data, pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]",
        unk_piece="[UNK]"))
    random, result = random_texts(1000, 5, PARTS), {}
    for kind in CLASSES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder_of(kind, folder)
            t = AutoTokenizer.from_pretrained(folder)
            rows = [t(x)["input_ids"] for x in TEXTS]
            many = [t(x)["input_ids"] for x in random]
            pair = t("the king", "of men", return_token_type_ids=True)
            decoded = lambda skip: hashes([t.decode(r, skip_special_tokens=skip) for r in rows + many])
            result[kind] = {"file": CLASSES[kind][0], "golden": CLASSES[kind][1], "config": CLASSES[kind][2],
                            "class": type(t).__name__, "ids": rows, "random": fnv_rows(many), "mask": t.mask_token_id,
                            "pair": pair["input_ids"], "types": pair["token_type_ids"], "decoded": decoded(False),
                            "skipped": decoded(True)}
    write("encoders.json", {"texts": TEXTS, "parts": PARTS, "special": SPECIAL, "tokenizers": result})


if __name__ == "__main__":
    main()
