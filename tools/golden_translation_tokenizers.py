#!/usr/bin/env python3
"""Makes tests/goldens/tokenizers/translation.json again: MarianTokenizer, and the classes of Transformers that number the
pieces of a SentencePiece model anew (XLM-R, mBART, mBART-50, Pegasus). Transformers needs protobuf to read such models.

    tools/golden_translation_tokenizers.py [DATA]

  pegasus.model, marian_target.model  small models trained here; source.spm and sentencepiece.bpe.model are unigram.model
  translation.json                    vocabularies, and ids and texts by tokenizer: rows of hard texts, hashes of random ones

DATA (HONE_DATA, ../shared/data) is the folder with tinyshakespeare, tok-marian-en-mg and wikitext2.
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

TEXTS = golden_unigram.TEXTS[:16] + golden_unigram.TEXTS[-10:] + [
    ">>fr<< the king", ">>fr<<the", " >>fr<< the", ">>xx<< the <<", ">>fr<<", ">>fr <</s> >>fr<<a", "the</s>king </s> of",
    "en_XX the ro_RO <mask> x <mask>y", "<mask_1> a <mask_2> <unk_7>b", "<pad><unk> x", "king\nof  men"]
PARTS = golden_unigram.PARTS + [">>fr<<", ">>fr<< ", ">>", "<<", "<mask_2>", "en_XX", "king", "\u0436"]
CONFIGS = {
    "XLMRobertaTokenizer": {}, "MBartTokenizer": {"src_lang": "en_XX", "tgt_lang": "ro_RO"},
    "MBart50Tokenizer": {"src_lang": "de_DE", "tgt_lang": "sl_SI", "mask_token": "<mask>"}, "PegasusTokenizer": {},
    "MarianTokenizer": {"source_lang": "en", "target_lang": "fr"},
    "MarianTokenizer separate": {"source_lang": "en", "target_lang": "fr", "separate_vocabs": True}}



def train(data, **options):
    lines = [line for line in (data / "tinyshakespeare/input.txt").read_text()[150000:250000].splitlines() if line.strip()]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type="unigram", vocab_size=300, num_threads=1,
        normalization_rule_name="identity", minloglevel=2, **options)
    return model.getvalue()


def pieces(name):
    sp = sentencepiece.SentencePieceProcessor(model_file=str(out / name))
    return [sp.id_to_piece(i) for i in range(len(sp))]


def vocabularies():
    """One of both models without every seventh piece, and two of one model each."""
    def vocabulary(*names):
        seen = [p for name in names for p in pieces(name)]
        kept = [p for i, p in enumerate(dict.fromkeys(seen)) if i % 7 != 5 and p not in ("</s>", "<unk>", "<s>")]
        return {p: i for i, p in enumerate(["</s>", "<unk>", *kept, ">>fr<<", "\u4e2d", "<pad>"])}
    source, target = "unigram.model", "marian_target.model"
    return {"shared": vocabulary(source, target), "source": vocabulary(source), "target": vocabulary(target)}


def folder_of(kind, config, vocabs, folder):
    config = {"tokenizer_class": kind.split()[0], **config}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    if not kind.startswith("Marian"):
        name, spm = ("pegasus.model", "spiece.model") if kind.startswith("Pegasus") else ("unigram.model", "sentencepiece.bpe.model")
        shutil.copy(out / name, folder / spm)
        return
    shutil.copy(out / "unigram.model", folder / "source.spm")
    shutil.copy(out / "marian_target.model", folder / "target.spm")
    separate = "separate_vocabs" in config
    (folder / "vocab.json").write_text(json.dumps(vocabs["source" if separate else "shared"]))
    if separate:
        (folder / "target_vocab.json").write_text(json.dumps(vocabs["target"]))


def rows(t, texts, side):
    encode = (lambda x: t(text_target=x)["input_ids"]) if side == "targets" else (lambda x: t(x)["input_ids"])
    return [encode(x) for x in texts]


def hashes(decoded):
    return fnv_rows([list(text.encode()) for text in decoded])


def side_of(t, texts, random, side):
    ids, many = rows(t, texts, side), rows(t, random, side)
    if getattr(t, "separate_vocabs", False) and side == "sources":  # it would decode them with the targets' vocabulary
        return {"ids": ids, "random": fnv_rows(many)}
    decoded = lambda skip: hashes([t.decode(r, skip_special_tokens=skip) for r in ids + many])
    return {"ids": ids, "random": fnv_rows(many), "decoded": decoded(False), "skipped": decoded(True)}


def main():
    data = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HONE_DATA", root / "../shared/data"))
    (out / "pegasus.model").write_bytes(train(data, pad_id=0, eos_id=1, unk_id=2, bos_id=-1))
    (out / "marian_target.model").write_bytes(train(data))
    vocabs, random, result = vocabularies(), random_texts(1000, 5, PARTS), {}
    for kind, config in CONFIGS.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder_of(kind, config, vocabs, folder)
            t = AutoTokenizer.from_pretrained(folder)
            assert type(t).__name__ == kind.split()[0], type(t)
            result[kind] = {"config": config, "pair": t("the king", "of men")["input_ids"],
                            "sources": side_of(t, TEXTS, random, "sources"), "targets": side_of(t, TEXTS, random, "targets")}
    t = AutoTokenizer.from_pretrained(data / "tok-marian-en-mg")
    lines = (data / "wikitext2/test.txt").read_text().splitlines()[:500]
    real = {side: {"random": fnv_rows(rows(t, random, side)), "lines": fnv_rows(rows(t, lines, side)),
                   "skipped": hashes([t.decode(r, skip_special_tokens=True) for r in rows(t, lines, side)])}
            for side in ("sources", "targets")}
    write("translation.json", {"texts": TEXTS, "parts": PARTS, "vocabularies": vocabs, "tokenizers": result,
                               "tok-marian-en-mg": real})


if __name__ == "__main__":
    main()
