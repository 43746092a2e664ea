#!/usr/bin/env python3
"""ROUGE, BLEU and chrF over real text, in pairs: `hone score` (one thread) against rouge-score and sacreBLEU.

hone is charged for reading the file and printing (less a run on one pair: its start); the packages only for scoring
texts already in memory. The scores must be the same.
"""
import json
import time

import common
import models
from tokenization import probe, text_rows


def texts(count):
    """Predictions and references: abstracts against their first half where the data folder has them, else lines of text
    against the same lines without every fifth word."""
    if (models.data_folder() / "scitldr").exists():
        found = [("\n".join(row["source"][:3]), "\n".join(row["source"])) for row in models.papers("test")]
    else:
        found = [(" ".join(w for i, w in enumerate(row.split()) if i % 5 != 4), row) for row in text_rows(1)[0]]
    return [found[i % len(found)] for i in range(count)]


def rouge(pairs):
    from rouge_score import rouge_scorer
    names = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    scorer = rouge_scorer.RougeScorer(names, use_stemmer=True)

    def score():
        scores = [scorer.score(reference, prediction) for prediction, reference in pairs]
        return {name: sum(s[name].fmeasure for s in scores) / len(scores) for name in names}
    return score


def sacrebleu(name, pairs):
    from sacrebleu.metrics import BLEU, CHRF
    predictions, references = map(list, zip(*pairs))
    return lambda: {name: (BLEU() if name == "bleu" else CHRF()).corpus_score(predictions, [references]).score}


def measure(options, name, pairs, theirs_of):
    common.FILES.mkdir(parents=True, exist_ok=True)
    many, one = common.FILES / "scoring.jsonl", common.FILES / "scoring-1.jsonl"
    lines = [json.dumps(dict(prediction=p, reference=r)) + "\n" for p, r in pairs]
    many.write_text("".join(lines))
    one.write_text(lines[0])
    expected, got = {}, {}

    def theirs():
        score = theirs_of()
        start = time.perf_counter()
        expected.update(score())
        return dict(seconds=time.perf_counter() - start)

    def hone(file):
        return common.child([options.hone, "score", "--metric", name, "--json", "--predictions", str(file),
                             "--predictions_column", "prediction", "--references", str(file),
                             "--references_column", "reference"])

    def mine():
        _, start_up, _ = hone(one)
        output, seconds, peak = hone(many)
        got.update(json.loads(output))
        return dict(seconds=seconds - start_up, peak=peak)

    if options.only:
        return {"metric": name, options.only + " s": (theirs if options.only == "peer" else mine)()["seconds"]}, {}
    kept, retaken = common.pairs(options.pairs, options.retakes, probe, theirs, mine)
    for key, value in expected.items():
        if abs(got[key] - value) > 1e-12 * max(1, abs(value)):
            raise SystemExit(f"{key} differs: {got[key]}, expected {value}")
    seen = common.summary(kept)
    return {"metric": name, "pairs of texts": len(pairs),
            "pairs/s": f"{len(pairs) / seen['peer_seconds']:.0f} / {len(pairs) / seen['hone_seconds']:.0f}",
            "speed": f"{seen['speedup']:.0f}x", "scores": "equal",
            "pairs": f"{seen['steady_pairs']} steady of {len(kept)}, {retaken} retaken"}, seen


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=1000)
    options = parser.parse_args()
    common.limit_threads()
    pairs = texts(50 if options.tiny else options.texts)
    table, details = [], {}
    for name, peer in [("rouge", lambda: rouge(pairs)), ("bleu", lambda: sacrebleu("bleu", pairs)),
                       ("chrf", lambda: sacrebleu("chrf", pairs))]:
        row, details[name] = measure(options, name, pairs, peer)
        table.append(row)
    common.finish("Scoring (peer / hone)", table, details, options)


if __name__ == "__main__":
    main()
