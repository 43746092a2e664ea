#!/usr/bin/env python3
"""Makes tests/goldens/tokenizers/truncation.json again: texts and pairs cut by Transformers' fast tokenizers.

    tools/golden_truncation.py [DATA]

For each tokenizer and side, a hash of the rows of every strategy, length, text and pair: ids, then token_type_ids; a row
that raises is one 0x7ffffffd. The tokenizers of DATA (HONE_DATA, ../shared/data) stand under "real".
"""
import json
import os
import sys
from pathlib import Path

from tokenizers import Tokenizer
from transformers import BertTokenizer, GPT2Tokenizer, PreTrainedTokenizerFast, RobertaTokenizer, T5Tokenizer

from golden_tokenizers import PARTS, fnv_rows, out, random_texts, root, write

STRATEGIES = ["longest_first", "only_first", "only_second", "do_not_truncate"]
LENGTHS = [4, 5, 8, 13, 30]
COUNT, SEED = 120, 11


def mini(name):
    cases, vocabulary = json.loads((out / "cases.json").read_text()), json.loads((out / "mini.json").read_text())
    spec = cases["pipelines"][name]["spec"]
    spec["model"] = {**cases["pipelines"][name]["model"], "vocab": {t: i for i, t in enumerate(vocabulary["tokens"])},
                     "merges": vocabulary["merges"]}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(spec)))


def rows(tokenizer, texts, side):
    tokenizer.truncation_side = side
    result = []
    for strategy in STRATEGIES:
        for length in LENGTHS:
            for special in (True, False):
                for i, text in enumerate(texts):
                    pair = texts[(i + 1) % len(texts)] if i % 3 else None
                    try:
                        row = tokenizer(text, pair, truncation=strategy, max_length=length, add_special_tokens=special,
                                        return_token_type_ids=True)
                        result.append(row["input_ids"] + [0x7ffffffe] + row["token_type_ids"])
                    except Exception as error:
                        if "Truncation error" not in str(error):
                            raise
                        result.append([0x7ffffffd])
    return fnv_rows(result)


def main():
    data = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HONE_DATA", root / "../shared/data"))
    texts = random_texts(COUNT, SEED)
    small = {"wordpiece": BertTokenizer(str(out / "wordpiece.txt")), "gpt2": mini("gpt2"), "roberta": mini("roberta"),
             "llama3": mini("llama3")}
    real = {"tok-bert-uncased": BertTokenizer.from_pretrained(data / "tok-bert-uncased"),
            "tok-roberta": RobertaTokenizer(str(data / "tok-roberta/vocab.json"), str(data / "tok-roberta/merges.txt")),
            "tok-t5": T5Tokenizer.from_pretrained(data / "tok-t5"), "tok-gpt2": GPT2Tokenizer.from_pretrained(data / "tok-gpt2")}
    hashes = lambda group: {name: {side: rows(t, texts, side) for side in ("right", "left")} for name, t in group.items()}
    write("truncation.json", {"parts": PARTS, "count": COUNT, "seed": SEED, "strategies": STRATEGIES, "lengths": LENGTHS,
                              "small": hashes(small), "real": hashes(real)})


if __name__ == "__main__":
    main()
