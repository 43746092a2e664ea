#!/usr/bin/env python3
"""Makes tests/goldens/ner/entities.json: what Transformers' token-classification pipeline finds in texts with the models
of tests/goldens/ner, by every aggregation_strategy. One thing is mended in it: the token of a space alone begins the word that
follows, and all tokens of a character are in one word.

    tools/golden_entities.py
"""
import pathlib

from golden_models import write_json
from transformers import AutoModelForTokenClassification, AutoTokenizer, TokenClassificationPipeline

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "ner"
TEXTS = ["The ferry to the old town leaves at nine, and the café opens.", "Ünïcode river-bank 1830!", "a"]
STRATEGIES = ["none", "simple", "first", "average", "max"]


class Words(TokenClassificationPipeline):
    def gather_pre_entities(self, *args, **more):
        tokens = super().gather_pre_entities(*args, **more)
        for before, token in zip(tokens, tokens[1:]):
            alone = before["start"] == before["end"] == token["start"]
            token["is_subword"] = token["is_subword"] or alone or token["start"] < before["end"]
        return tokens


def plain(entity):
    return {key: float(value) if key == "score" else value if isinstance(value, str) else int(value)
            for key, value in entity.items()}


def make(name):
    tokenizer = AutoTokenizer.from_pretrained(ROOT / name)
    model = AutoModelForTokenClassification.from_pretrained(ROOT / name).eval()
    find = Words(model=model, tokenizer=tokenizer, task="token-classification")
    return [{"text": text, "strategy": strategy,
             "entities": [plain(e) for e in find(text, aggregation_strategy=strategy, ignore_labels=[])]}
            for text in TEXTS for strategy in STRATEGIES]


if __name__ == "__main__":
    write_json(ROOT / "entities.json", {name: make(name) for name in ("bert", "roberta")})
