#!/usr/bin/env python3
"""Makes tests/goldens/tokenizers/bytes.json again: ByT5Tokenizer, and a tokenizer.json whose steps after ByteLevel split
the letters of the bytes, as Falcon's does, around the vocabulary of mini.json.

    tools/golden_byte_tokenizers.py

bytes.json   texts; byt5: ids of the texts, a pair, a hash of random texts; falcon: pre_tokenizer and the same
"""
import json
import tempfile
import warnings
from pathlib import Path

from tokenizers import Tokenizer, decoders, models
from transformers import AutoTokenizer

from golden_tokenizers import fnv_rows, out, random_texts, write

TEXTS = [
    "", " ", "Hello world", "don't DON'T we'Ll", "a\r\nb\n\n \n  d\t\te", "123 4567 89012 \u00bd \u0663\u0664\u0665 1a2b",
    "x\0y", "emoji \U0001f600 \U0001f469\u200d\U0001f467", "\u4e2d\u6587\uff0c\u6807\u70b9\u3002\ud55c\uad6d", "e\u0301 \u00e9 \u212b",
    "!!!???...---===", "foo_bar-baz.qux@x.com https://a.b/c?d=e&f=g#h", "1,234,567.89 $100 50%", "\u00a0nbsp\u3000ideo",
    "a</s>", "a </s> b", "</s>", "<extra_id_0> x<extra_id_124>y", "<pad>a<unk> <extra_id_125>", "the end of the king 12345678",
]
PARTS = [" ", "  ", "\n", "\t", "a", "the", "'s", "1", "12", "2024", "\u00bd", "\u00e9", "\u4e2d", "\U0001f600", "\u00a0", "\0", ".",
         "!?", "-", "_", "</s>", " </s>", "<pad>", "<extra_id_7>", "<", "|>", "K", "\u0300", "ing", "king", "\u0663", "word"]
STEPS = {"type": "Sequence", "pretokenizers": [
    {"type": "Punctuation", "behavior": "Contiguous"},
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    {"type": "Digits", "individual_digits": False},
    {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": False}]}


def falcon():
    mini = json.loads((out / "mini.json").read_text())
    vocab = {token: i for i, token in enumerate(mini["tokens"])}
    t = Tokenizer(models.BPE(vocab, [tuple(merge.split(" ")) for merge in mini["merges"]]))
    t.decoder = decoders.ByteLevel()
    whole = json.loads(t.to_str())
    whole["pre_tokenizer"] = STEPS
    return Tokenizer.from_str(json.dumps(whole))


def main():
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tokenizer_config.json").write_text('{"tokenizer_class": "ByT5Tokenizer"}')
        byt5 = AutoTokenizer.from_pretrained(folder)
    assert type(byt5).__name__ == "ByT5Tokenizer"
    many, own = random_texts(1000, 5, PARTS), falcon()
    value = dict(
        texts=TEXTS, parts=PARTS,
        byt5=dict(ids=[byt5(t)["input_ids"] for t in TEXTS], pair=byt5("the king", "of men")["input_ids"],
                  cut=byt5("the king", truncation=True, max_length=5)["input_ids"],
                  random=fnv_rows([byt5(t)["input_ids"] for t in many])),
        falcon=dict(pre_tokenizer=STEPS, ids=[own.encode(t).ids for t in TEXTS],
                    random=fnv_rows([own.encode(t).ids for t in many])))
    write("bytes.json", value)


if __name__ == "__main__":
    main()
