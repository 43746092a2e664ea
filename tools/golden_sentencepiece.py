#!/usr/bin/env python3
"""Makes the goldens of SentencePiece BPE again: what sentencepiece and tokenizers say of texts.

    tools/golden_sentencepiece.py [DATA]

DATA (HONE_DATA, ../shared/data) is the folder with tok-llama2, tok-mistral and tinyshakespeare.

  sentencepiece.model      a BPE model with byte fallback, trained here, identity normalization
  sentencepiece.json       hard texts and their ids by sentencepiece and by the pipelines that tokenizer.json files
                           have around such a vocabulary
  real_sentencepiece.json  hashes of the ids of real models over the hard texts, random texts and corpora
"""
import json, os, sys, tempfile
from pathlib import Path

import sentencepiece
from tokenizers import Tokenizer
from transformers.convert_slow_tokenizer import generate_merges

from golden_tokenizers import (PARTS, TEXTS, added, fnv_rows, out, pipeline_hashes, random_texts, real_hashes, root, split,
                               template, write)

SPACE = "\u2581"
TEXTS = TEXTS + ["a  b", " x", "\u2581a \u2581\u2581", "  lead and trail  ", "x<sep>y <sep> z", "<s>", "<s> a</s>b",
                 "\ud55c\uae00<0x41>", "aaaa==== ====", "The KING \u0130 \u00c9"]
PARTS = PARTS + ["\u2581", "    ", "<sep>", "=", "----", "\u043f\u0440\u0438"]


def train(data):
    corpus = (data / "tinyshakespeare/input.txt").read_text()[:150000].splitlines() + TEXTS[:16] * 2
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        text.write_text("\n".join(line for line in corpus if line.strip()))
        sentencepiece.SentencePieceTrainer.train(
            input=str(text), model_prefix=folder + "/m", vocab_size=800, model_type="bpe", byte_fallback=True,
            normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
            allow_whitespace_only_pieces=True, user_defined_symbols=["<sep>"], character_coverage=0.998,
            num_threads=1, minloglevel=2)
        return (Path(folder) / "m.model").read_bytes()


def metaspace(**options):
    return {"type": "Metaspace", "replacement": SPACE, **options}


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def normalizers(*steps):
    return {"type": "Sequence", "normalizers": list(steps)}


def decoder(strip=True):
    steps = [replace(SPACE, " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
    if strip:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def pipelines():
    prepend, spaces = {"type": "Prepend", "prepend": SPACE}, replace(" ", SPACE)
    bos = template(("<s>", 1))
    new = metaspace(prepend_scheme="first", split=False)
    return {
        "legacy": dict(normalizer=normalizers(prepend, spaces), decoder=decoder(), post_processor=bos),
        "first": dict(pre_tokenizer=new, decoder=decoder(), post_processor=bos),
        "always": dict(pre_tokenizer=metaspace(prepend_scheme="always", split=False), decoder=decoder()),
        "never": dict(pre_tokenizer=metaspace(prepend_scheme="never", split=False), decoder=decoder(False)),
        "split": dict(pre_tokenizer=metaspace(prepend_scheme="first", split=True),
                      decoder=metaspace(prepend_scheme="first", split=True)),
        "old": dict(pre_tokenizer=metaspace(add_prefix_space=True), decoder=metaspace(add_prefix_space=True)),
        "old_never": dict(pre_tokenizer=metaspace(add_prefix_space=False, prepend_scheme="never"),
                          decoder=metaspace(add_prefix_space=False, prepend_scheme="never")),
        "gemma": dict(normalizer=spaces, pre_tokenizer=split(" ", "MergedWithPrevious", kind="String"),
                      decoder=decoder(False), post_processor=bos),
        "steps": dict(normalizer=normalizers({"type": "Strip", "strip_left": True, "strip_right": True},
                                             {"type": "Lowercase"}, replace(" {2,}", " ", "Regex")),
                      pre_tokenizer={"type": "Sequence", "pretokenizers": [
                          split(r"\d", kind="Regex"), metaspace(prepend_scheme="always", split=False)]},
                      decoder={"type": "Sequence", "decoders": [
                          {"type": "Strip", "content": SPACE, "start": 0, "stop": 1}, {"type": "Fuse"}]}),
        "unk": dict(normalizer=normalizers(prepend, spaces), model=dict(byte_fallback=False), decoder=decoder()),
        "unk_each": dict(normalizer=normalizers(prepend, spaces), decoder={"type": "Fuse"},
                         model=dict(byte_fallback=False, fuse_unk=False)),
        "no_unk": dict(normalizer=spaces, model=dict(byte_fallback=False, unk_token=None), decoder=decoder()),
        "ignore": dict(pre_tokenizer=metaspace(prepend_scheme="always", split=True), decoder=decoder(),
                       model=dict(ignore_merges=True)),
    }


def cases(data):
    model = train(data)
    (out / "sentencepiece.model").write_bytes(model)
    sp = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = [sp.id_to_piece(i) for i in range(len(sp))]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    merging = {piece: sp.get_score(i) for piece, i in vocab.items()
               if not (sp.is_control(i) or sp.is_unknown(i) or sp.is_byte(i))}
    merges = [list(m) for m in generate_merges({p: vocab[p] for p in merging}, merging)]
    tokens = [{**added(t), "id": i} for i, t in enumerate(["<unk>", "<s>", "</s>"])]
    tokens.append({**added("<sep>", special=False), "id": vocab["<sep>"]})
    texts, fuzz, result = TEXTS, random_texts(2000, 1, PARTS), {}
    broken = [[vocab["<0xE4>"], vocab["<0xB8>"], vocab["<0xAD>"]], [vocab["<0xE4>"], vocab["<0xB8>"]],
              [vocab["<0x41>"], vocab["<0xFF>"], vocab["<0x42>"], vocab["e"], vocab["<0xC3>"]],
              [1, vocab["<0xC3>"], 2, vocab["<0xA9>"]], [vocab[SPACE + "the"], vocab["<0x0A>"], vocab[SPACE]]]
    for name, p in pipelines().items():
        settings = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                    "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
                    **p.get("model", {})}
        spec = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
                "normalizer": p.get("normalizer"), "pre_tokenizer": p.get("pre_tokenizer"),
                "post_processor": p.get("post_processor"), "decoder": p["decoder"]}
        t = Tokenizer.from_str(json.dumps({**spec, "model": {**settings, "vocab": vocab, "merges": merges}}))
        result[name] = {"spec": spec, "model": settings, **pipeline_hashes(t, texts, fuzz),
                        "broken": [t.decode(r, skip_special_tokens=False) for r in broken]}
    plain = [t for t in texts if "<sep>" not in t]
    write("sentencepiece.json", {
        "texts": texts, "parts": PARTS, "broken": broken, "pipelines": result,
        "sentencepiece": {"texts": plain, "ids": [sp.encode(t) for t in plain],
                          "random": fnv_rows([sp.encode(t.replace("<sep>", "")) for t in fuzz])}})


def real(data):
    row = real_hashes(data, TEXTS, PARTS)

    result = {}
    for name in ("tok-llama2/tokenizer.model", "tok-mistral/tokenizer.model.v1",
                 "tok-mistral/mistral_instruct_tokenizer_240323.model.v3"):
        result[name] = row(sentencepiece.SentencePieceProcessor(model_file=str(data / name)).encode)
    t = Tokenizer.from_file(str(data / "tok-llama2/tokenizer.json"))
    result["tok-llama2/tokenizer.json"] = row(lambda x: t.encode(x).ids)
    write("real_sentencepiece.json", result)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HONE_DATA", root / "../shared/data"))
    out.mkdir(parents=True, exist_ok=True)
    cases(folder)
    real(folder)
