"""Makes tests/goldens/tokenizers/empty_matches.json: stages whose regex matches between characters.

Each row is [regex, text, the text with every match replaced by a comma, the pieces by behavior and
invert], as tokenizers gives them."""
import json
import pathlib

from tokenizers import Regex, normalizers, pre_tokenizers

REGEXES = [r"(?<=\d)(?=(\d{3})+$)", r"(?=(\d{3})+(?!\d))", r"x*", r"$", r"^", r"\b", r"(?=b)|b",
           r"a|(?=b)", r""]
TEXTS = ["a 1234567", "xxaxb", "ab\ncd", "", "é xb"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def behavior_name(name):
    return "".join("_" * (i > 0 and c.isupper()) + c.lower() for i, c in enumerate(name))


def pieces(regex, text, behavior, invert):
    split = pre_tokenizers.Split(Regex(regex), behavior_name(behavior), invert=invert)
    return [piece for piece, _ in split.pre_tokenize_str(text)]


rows = []
for regex in REGEXES:
    for text in TEXTS:
        split = {f"{b}{' inverted' * i}": pieces(regex, text, b, bool(i)) for b in BEHAVIORS for i in (0, 1)}
        rows.append([regex, text, normalizers.Replace(Regex(regex), ",").normalize_str(text), split])
out = pathlib.Path(__file__).parents[1] / "tests/goldens/tokenizers/empty_matches.json"
out.write_text("[" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "]\n")
