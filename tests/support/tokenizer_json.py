"""tokenizer_json.py FOLDER [--drop-merge] [--indent N]   writes tokenizer.json again, changed as asked."""
import argparse
import json

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--drop-merge", action="store_true")
parser.add_argument("--indent", type=int)
options = parser.parse_args()
path = options.folder + "/tokenizer.json"
with open(path, encoding="utf-8") as f:
    tokenizer = json.load(f)
if options.drop_merge:
    tokenizer["model"]["merges"].pop()
with open(path, "w", encoding="utf-8") as f:
    json.dump(tokenizer, f, indent=options.indent, sort_keys=options.indent is not None)
