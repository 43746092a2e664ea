"""qa_same.py GOLDEN TRAINED EVALUATED: compares ten losses of a run and the answers of the untrained model with a golden
of tools/golden_qa.py."""
import json
import sys

from losses import compare_losses

golden = json.load(open(sys.argv[1]))
compare_losses(sys.argv[2], golden["losses"], lambda loss: 1e-4 * loss)
want = golden["answers"]["some"]
got = {name: json.load(open(f"{sys.argv[3]}/eval_{name}.json")) for name in ("predictions", "nbest_predictions", "null_odds")}
assert got["predictions"] == want["predictions"], (got["predictions"], want["predictions"])
for id, list in want["nbest"].items():
    assert [entry["text"] for entry in got["nbest_predictions"][id]] == [text for text, _ in list], id
    for entry, (_, probability) in zip(got["nbest_predictions"][id], list):
        assert abs(entry["probability"] - probability) < 1e-4, (id, entry, probability)
    assert abs(got["null_odds"][id] - want["null_odds"][id]) < 1e-4, id
print("same as run_qa")
