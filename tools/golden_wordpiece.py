#!/usr/bin/env python3
"""Makes the goldens of WordPiece again: what tokenizers and Transformers say of texts.

    tools/golden_wordpiece.py [DATA]

DATA (HONE_DATA, ../shared/data) is the folder with tok-bert-uncased, tok-bert-cased and tinyshakespeare.

  wordpiece.txt        a vocabulary of WordPiece, trained here
  wordpiece.json       hard texts and their ids under several pipelines around it; hashes of what each normalizer and
                       pre-tokenizer makes of every character of Unicode
  real_wordpiece.json  hashes of the ids of real vocabularies over the hard texts, random texts and corpora
"""
import json, os, sys
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import BertTokenizer

from golden_tokenizers import PARTS, TEXTS, added, fnv, out, pipeline_hashes, random_texts, real_hashes, root, write

TEXTS = TEXTS + [
    "[CLS] a [SEP]", "x[MASK]y [MASK] z [UNK]", "##ing ing##", "unaffable runnnnning", "x" * 100, "x" * 101,
    "\u4e2d\u6587a\u4e2d b\uf900c", "na\u00efve caf\u00e9 \u00c5ngstr\u00f6m \u0130stanbul \u1e9e \u00df",
    "a\u0300\u0316b \u0316\u0300 \u302e\u0301\u302f \U0001d165\u0300\U0001d16d x", "\u1109\u1173\u11ab \uc2a8",
    "a\u00adb\u200bc\ufeffd\ufffde\x7ff\x0bg\x85h", "$1.50 + 3 = 4 < 5 | 6 ~ 7 ^ 8 ` 9", "\u201cquoted\u201d \u2014 \u2026 \u00a1hola!",
    "don't can't I'm he's we've they're do not", "\t\r\n ", "\u212a\u2126\u212b", "\u0958\u09dc \u0344\u0340",
]
PARTS = PARTS + ["[MASK]", "[SEP]", "##", "\u0316", "\u0300", "\u302e", "\u00ad", "\u0130", "\u00c5", "$", "+", "\uf900", "\u201c",
                 "\u1e9e", "un", "able", "\ufffd", "\ue000"]


def bert(**options):
    return {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
            "lowercase": True, **options}


def normalizer_kinds():
    return {"uncased": bert(), "cased": bert(lowercase=False), "accents": bert(strip_accents=False),
            "raw": bert(clean_text=False, handle_chinese_chars=False, lowercase=False, strip_accents=True),
            "lowercase": {"type": "Lowercase"}}


def template(ids):
    def special(token, segment):
        return {"SpecialToken": {"id": token, "type_id": segment}}
    one = [special("[CLS]", 0), {"Sequence": {"id": "A", "type_id": 0}}, special("[SEP]", 0)]
    return {"type": "TemplateProcessing", "single": one,
            "pair": one + [{"Sequence": {"id": "B", "type_id": 1}}, special("[SEP]", 1)],
            "special_tokens": {t: {"id": t, "ids": [ids[t]], "tokens": [t]} for t in ("[CLS]", "[SEP]")}}


def pipelines(ids):
    around = dict(sep=["[SEP]", ids["[SEP]"]], cls=["[CLS]", ids["[CLS]"]])
    split = {"type": "BertPreTokenizer"}
    kinds = normalizer_kinds()
    return {
        "uncased": dict(normalizer=kinds["uncased"], pre_tokenizer=split, post_processor=template(ids)),
        "cased": dict(normalizer=kinds["cased"], pre_tokenizer=split, post_processor={"type": "BertProcessing", **around}),
        "accents": dict(normalizer=kinds["accents"], pre_tokenizer=split,
                        post_processor={"type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False, **around}),
        "raw": dict(normalizer=kinds["raw"], pre_tokenizer=split, model=dict(max_input_chars_per_word=8),
                    decoder={"type": "WordPiece", "prefix": "##", "cleanup": False}),
        "words": dict(normalizer=kinds["lowercase"], pre_tokenizer={"type": "WhitespaceSplit"},
                      model=dict(continuing_subword_prefix="")),
        "plain": dict(model=dict(unk_token="[MASK]")),
    }


def cases(data):
    corpus = (data / "tinyshakespeare/input.txt").read_text()[:200000].splitlines()
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(strip_accents=False, lowercase=False)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(corpus + TEXTS[:30], trainers.WordPieceTrainer(
        vocab_size=900, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    ids = t.get_vocab()
    (out / "wordpiece.txt").write_text("".join(token + "\n" for token in sorted(ids, key=ids.get)))
    tokens = [{**added(token), "id": ids[token]} for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    fuzz, result = random_texts(2000, 1, PARTS), {}
    for name, p in pipelines(ids).items():
        model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                 **p.get("model", {})}
        spec = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
                "normalizer": p.get("normalizer"), "pre_tokenizer": p.get("pre_tokenizer"),
                "post_processor": p.get("post_processor"),
                "decoder": p.get("decoder", {"type": "WordPiece", "prefix": "##", "cleanup": True})}
        t = Tokenizer.from_str(json.dumps({**spec, "model": {**model, "vocab": ids}}))
        pair = t.encode("Hello the king", " world")
        result[name] = {"spec": spec, "model": model, **pipeline_hashes(t, TEXTS, fuzz), "pair": pair.ids,
                        "pair_types": pair.type_ids}

    chars = [c for c in range(0x110000) if not 0xd800 <= c < 0xe000]
    every = {}
    for name, spec in normalizer_kinds().items():
        options = {k: v for k, v in spec.items() if k != "type"}
        n = getattr(normalizers, spec["type"])(**options)
        h = fnv([])
        for c in chars:
            h = fnv(n.normalize_str("a" + chr(c) + "\u0316b").encode(), h)
        every[name] = {"spec": spec, "hash": f"{h:016x}"}
    cut, h = pre_tokenizers.BertPreTokenizer().pre_tokenize_str, fnv([])
    for c in chars:
        h = fnv([len(piece.encode()) for piece, _ in cut("a" + chr(c) + "b")], h)
    write("wordpiece.json", {"texts": TEXTS, "parts": PARTS, "pipelines": result, "every": every, "every_split": f"{h:016x}"})


def real(data):
    row = real_hashes(data, TEXTS, PARTS)

    def file(path):
        t = Tokenizer.from_file(str(data / path))
        t.no_truncation()
        t.no_padding()
        return row(lambda x: t.encode(x).ids)

    def transformers(t):
        return row(lambda x: t(x)["input_ids"])

    write("real_wordpiece.json", {
        "tok-bert-uncased": transformers(BertTokenizer.from_pretrained(data / "tok-bert-uncased")),
        "tok-bert-uncased/vocab.txt": transformers(BertTokenizer(vocab=str(data / "tok-bert-uncased/vocab.txt"))),
        "tok-bert-cased/tokenizer.json": file("tok-bert-cased/tokenizer.json"),
        "tok-bert-cased/vocab.txt": transformers(BertTokenizer(vocab=str(data / "tok-bert-cased/vocab.txt")))})


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HONE_DATA", root / "../shared/data"))
    out.mkdir(parents=True, exist_ok=True)
    cases(folder)
    real(folder)
