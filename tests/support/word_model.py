"""Makes the model folder TO of FROM, with a tokenizer of the words w0 to w34."""
import json
import pathlib
import shutil
import sys

to = pathlib.Path(sys.argv[2])
shutil.copytree(sys.argv[1], to)
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(35))]
(to / "vocab.txt").write_text("\n".join(words) + "\n")
(to / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True}))
