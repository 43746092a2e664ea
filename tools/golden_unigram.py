#!/usr/bin/env python3
"""Makes the goldens of Unigram again: what sentencepiece, tokenizers and Transformers say of texts.

    tools/golden_unigram.py [DATA]

DATA (HONE_DATA, ../shared/data) is the folder with tok-t5, tok-mt5, tok-marian-en-mg and tinyshakespeare.

  unigram.model, unigram_bytes.model  Unigram models trained here, with a small charsmap; the latter with byte fallback
  unigram.json                        texts and hashes of their ids by sentencepiece and by pipelines of tokenizer.json
  real_unigram.json                   hashes of the ids of real models over the texts, random texts and lines of wikitext
"""
import base64, json, os, sys, tempfile
from pathlib import Path

import sentencepiece
from tokenizers import Tokenizer
from transformers import T5Tokenizer

from golden_tokenizers import PARTS, TEXTS, added, fnv_rows, out, pipeline_hashes, random_texts, root, template, write
from protobuf_fields import fields

SPACE = "\u2581"
TEXTS = TEXTS + ["a  b", " x", "\u2581a \u2581\u2581", "  lead and trail  ", "x<sep>y <sep> z", "\ufb01\u0301 \u2167\u0132 \uff21\u212b",
                 "<extra_id_0> a <extra_id_99>b", "</s> <unk> <pad>", "internationalization " * 3, "\u3000a\u3000 b\u3000"]
PARTS = PARTS + ["\ufb01", "\ufb01\u0301", "\u212b", "\uff21", "\u2167", SPACE, " " + SPACE, "<extra_id_0>", "<pad>", "\u00ad", "\u3000 ",
                 "internationalization", "<sep>", "<unk>"]
RULES = {"\ufb01": "fi", "\u212b": "\u00c5", "A\u030a": "\u00c5", "e\u0301": "\u00e9", "\u3000": " ", "\u00a0": " ", "\t": " ", "\n": " ",
         "\r": " ", "\uff21": "A", "\u2167": "VIII", "\u00ad": "", SPACE: " ", "\u0300": "", "\u200d": ""}


def train(data, **options):
    corpus = (data / "tinyshakespeare/input.txt").read_text()[:150000].splitlines()
    with tempfile.TemporaryDirectory() as folder:
        text, rules = Path(folder) / "text", Path(folder) / "rules.tsv"
        text.write_text("\n".join(line for line in corpus if line.strip()))
        rules.write_text("".join("%s\t%s\n" % tuple(" ".join(f"{ord(c):X}" for c in s) for s in rule) for rule in RULES.items()))
        sentencepiece.SentencePieceTrainer.train(
            input=str(text), model_prefix=folder + "/m", model_type="unigram", normalization_rule_tsv=str(rules),
            user_defined_symbols=["<sep>"], num_threads=1, minloglevel=2, **options)
        return (Path(folder) / "m.model").read_bytes()


def charsmap_of(model):
    """Field 2 of field 3 of the protobuf."""
    spec = next(value for number, value in fields(model) if number == 3)
    return next(value for number, value in fields(spec) if number == 2)


def pipelines(charsmap, eos):
    precompiled = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    metaspace = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}
    first = {**metaspace, "prepend_scheme": "first", "split": False}
    strip = {"type": "Strip", "strip_left": False, "strip_right": True}
    squeeze = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": SPACE}
    words = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]}
    return {
        "t5": dict(normalizer=precompiled, pre_tokenizer=words, decoder=metaspace),
        "t5_file": dict(normalizer={"type": "Sequence", "normalizers": [precompiled, strip, squeeze]}, pre_tokenizer=metaspace,
                        decoder=metaspace, post_processor=template(("</s>", eos))),
        "whole": dict(normalizer={"type": "NFKC"}, pre_tokenizer=first, decoder=first),
    }


def cases(data):
    result = {"texts": TEXTS, "parts": PARTS, "models": {}}
    fuzz = random_texts(2000, 1, PARTS)
    long = " ".join(random_texts(20000, 5, PARTS))  # in one piece: sums of a million, which round
    for name, options in {"unigram": dict(vocab_size=700, character_coverage=0.998),
                          "unigram_bytes": dict(vocab_size=900, byte_fallback=True, remove_extra_whitespaces=False)}.items():
        model = train(data, **options)
        (out / f"{name}.model").write_bytes(model)
        sp = sentencepiece.SentencePieceProcessor(model_proto=model)
        vocab = [[sp.id_to_piece(i), sp.get_score(i)] for i in range(len(sp))]
        ids = {piece: i for i, (piece, _) in enumerate(vocab)}
        tokens = [{**added(t), "id": ids[t]} for t in ("<unk>", "<s>", "</s>")]
        entry = {"sentencepiece": {"texts": fnv_rows(sp.encode(TEXTS)), "random": fnv_rows(sp.encode(fuzz)), "long": fnv_rows([sp.encode(long)])},
                 "pipelines": {}}
        for kind, p in pipelines(base64.b64encode(charsmap_of(model)).decode(), ids["</s>"]).items():
            settings = {"type": "Unigram", "unk_id": 0, "byte_fallback": options.get("byte_fallback", False)}
            spec = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
                    "normalizer": p["normalizer"], "pre_tokenizer": p["pre_tokenizer"],
                    "post_processor": p.get("post_processor"), "decoder": p["decoder"]}
            t = Tokenizer.from_str(json.dumps({**spec, "model": {**settings, "vocab": vocab}}))
            entry["pipelines"][kind] = {"spec": spec, "model": settings, **pipeline_hashes(t, TEXTS, fuzz),
                                        "long": fnv_rows([t.encode(long).ids])}
        result["models"][name] = entry
    write("unigram.json", result)


def real(data):
    text = (data / "wikitext2/test.txt").read_text()
    lines = text.splitlines()
    fuzz = random_texts(5000, 7, PARTS)

    def row(encode):
        return {kind: fnv_rows([encode(t) for t in texts])
                for kind, texts in (("texts", TEXTS), ("random", fuzz), ("lines", lines), ("long", [text]))}

    result = {name: row(sentencepiece.SentencePieceProcessor(model_file=str(data / name)).encode) for name in
              ("tok-t5/spiece.model", "tok-mt5/spiece.model", "tok-marian-en-mg/source.spm", "tok-marian-en-mg/target.spm")}
    file = Tokenizer.from_file(str(data / "tok-t5/tokenizer.json"))
    result["tok-t5/tokenizer.json"] = row(lambda x: file.encode(x).ids)
    t5 = T5Tokenizer.from_pretrained(data / "tok-t5")
    result["tok-t5"] = row(lambda x: t5(x)["input_ids"])
    write("real_unigram.json", result)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HONE_DATA", root / "../shared/data"))
    out.mkdir(parents=True, exist_ok=True)
    cases(folder)
    real(folder)
