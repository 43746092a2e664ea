#!/usr/bin/env python3
"""Numbers of rouge-score, sacreBLEU, scikit-learn and scipy: tests/goldens/metrics/.

Needs rouge-score 0.1.2, sacrebleu 2.6, scikit-learn, scipy, nltk. With the folders scitldr and
multi30k in HONE_DATA (default ../shared/data) also the numbers for real text (real.json; the text
itself is not kept).
"""
import gzip
import json
import os
import random
import sys

import numpy as np
from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF
from scipy import stats
from sklearn import metrics as sk

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(SOURCE, "tests", "goldens", "metrics")
DATA = os.environ.get("HONE_DATA", os.path.join(SOURCE, "..", "shared", "data"))
TYPES = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
TOKENIZERS = ["13a", "intl", "zh", "char", "none"]

# No other character has a lower case with a-z or 0-9 in it: rouge's words rest on this.
assert [c for c in range(0x80, 0x110000) if any("0" <= x <= "z" and x.isalnum() for x in chr(c).lower())] == [0x130, 0x212A]


def save(name, value):
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as f:
        f.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("},{", "},\n{") + "\n")


def stems():
    roots = "cat pon fl trad hop tann fall hiss fizz conflat troubl siz fil happ sk relat condit ration valenc digit conform radic " \
            "differ vil analog vietnam predic oper feud decis hope call form sensit triplic electr good reviv allow infer airlin gyrosc " \
            "adjust irrit replac depend adopt homolog commun activ angular effect bowdler prob ceas contr roll y yy sy ay eye sea x1 b2b " \
            "archae theo ge phil s es ment ion enjo a i rhythm".split()
    ends = "|s|es|ies|sses|ss|ed|ing|eed|eeds|ied|y|ying|ily|ational|tional|enci|anci|izer|bli|abli|alli|entli|eli|ousli|ization|ation|ator|" \
           "alism|iveness|fulness|ousness|aliti|iviti|biliti|fulli|logi|logy|logies|icate|ative|alize|iciti|ical|ful|ness|al|ance|ence|er|ic|" \
           "able|ible|ant|ement|ment|ent|sion|tion|ou|ism|ate|iti|ous|ive|ize|e|ll|lle|lled|lling|atally|nally".split("|")
    every = sorted({r + e for r in roots for e in ends})
    words = random.Random(1).sample(every, 700) + "sky skies dying lying tying news innings inning outings outing cannings canning howe proceed " \
        "exceed succeed generalizations oscillators rationally nationally rationalli sss ies died dies yyyy 1990s 3rd 007 agreed feed sing".split()
    stem = PorterStemmer().stem
    with open(os.path.join(FOLDER, "stems.txt"), "w") as f:
        f.writelines(f"{w} {stem(w)}\n" for w in words)


HARD = [
    ("the cat sat on the mat", "the cat was found under the bed"),
    ("", "a reference"),
    ("a prediction", ""),
    ("", ""),
    ("...", "!?"),
    ("the the the the the", "the cat the"),
    ("Running runners ran quickly, generalizations oscillated.", "The runner runs quick; generalization oscillates"),
    ("first line\nsecond line here\n\nthird", "second line\nfirst line here\nthird third"),
    ("police killed the gunman\nthe gunman was shot", "police shot the gunman\nthe gunman was killed by police"),
    ("naïve café, Straße 42 — “quoted”", "naive cafe straße 42 'quoted'"),
    ("\u212a2 and \u0130stanbul", "k2 and i stanbul"),
    ("日本語 text 123", "日本語 text 124"),
    ("don't won't it's U.S.A. 3.14", "dont wont its usa 3 14"),
    ("ABC123def 456", "abc123def 456 789"),
    ("\tspaces\u00a0and\u2003wide\u200bzero", "spaces and wide zero"),
    ("a b c d e f g", "g f e d c b a"),
    ("w1 w2 w3 w4 w5", "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5"),
    ("😀 emoji 👩‍👩‍👧 family", "emoji family 😀"),
]


def random_text(r, words, lines, length):
    return "\n".join(" ".join(r.choice(words) for _ in range(r.randint(0, length))) for _ in range(lines))


def rouge():
    r = random.Random(7)
    words = "alpha beta gammas delta running runs cat cats the of".split()
    pairs = list(HARD)
    pairs += [(random_text(r, words, r.randint(1, 4), 12), random_text(r, words, r.randint(1, 4), 12)) for _ in range(40)]
    wide = [f"w{i}" for i in range(40)]
    pairs += [(random_text(r, wide, n, length), random_text(r, wide, n, length)) for n, length in [(1, 80), (1, 200), (2, 150), (3, 70)]]
    stemmed, plain = rouge_scorer.RougeScorer(TYPES, use_stemmer=True), rouge_scorer.RougeScorer(TYPES)
    cases = []
    for prediction, reference in pairs:
        s, p = stemmed.score(reference, prediction), plain.score(reference, prediction)
        cases.append({"prediction": prediction, "reference": reference,
                      "stemmed": [[s[t].precision, s[t].recall, s[t].fmeasure] for t in TYPES],
                      "plain": [p[t].fmeasure for t in TYPES]})
    references = ["the cat sat", "a cat was sitting there", "cat"]
    predictions = ["the cat", "a cat sat there\nand slept", ""]
    multi = [stemmed.score_multi(references, p) for p in predictions]
    save("rouge.json", {"cases": cases, "references": references, "predictions": predictions,
                        "means": [float(np.mean([m[t].fmeasure for m in multi])) for t in TYPES]})


def translation_scores(predictions, references, tokenizers):
    streams = list(map(list, zip(*references)))
    out = {}
    for t in tokenizers:
        bleu = BLEU(tokenize=t)
        s = bleu.corpus_score(predictions, streams)
        out[t] = {"bleu": s.score, "signature": str(bleu.get_signature()), "precisions": [float(p) for p in s.precisions],
                  "bp": s.bp, "sys_len": s.sys_len, "ref_len": s.ref_len}
    for order in (0, 2):
        chrf = CHRF(word_order=order)
        s = chrf.corpus_score(predictions, streams)
        out["chrf" + "+" * order] = {"chrf": s.score, "signature": str(chrf.get_signature())}
    return out


LINES = [
    "Hello, world! It's 3.14 or 1,000,000... right?",
    "A - B -- C; 5-6 x-y 7- -8 e.g. i.e. U.S. .5 5. ,5 5,",
    "&quot;quoted&quot; &amp;lt; &lt;b&gt; a&b <skipped>x",
    "[brackets] {braces} (parens) <tags/> a/b a\\b $5 50% #1 @me ^x `y` _z_ ~t |p| = + *",
    "¿Qué? «Guillemets» “curly” ‘single’ – — … € £ ¥ ° ² ½ 10€ 5°C ×",
    "中文句子。没有空格，有123和abc！全角ＡＢＣ",
    "日本語のテスト、カタカナ ｶﾅ ㈱ 𠀀𠀁 한국어",
    "  leading and trailing \u00a0\u2003 ",
    "don't stop-words a.b,c,d 1.2.3,4 a..b ..a. ,,",
    "٣٫١٤ १२.३ Ⅷ. x² e\u0301, हिन्दी। עברית, العربية؟",
    "😀 emoji👩‍👩‍👧, ok! a\u200bb",
    "",
]


def bleu():
    r = random.Random(11)
    words = "the a cat dog sat on mat , . it's 3.14 quickly - runs (very) \"far\" über straße".split()
    made = [random_text(r, words, 1, 25) for _ in range(25)]
    mutated = [" ".join(w for w in x.split() if r.random() > 0.15) for x in made]
    corpora = [
        (LINES[:11], [[LINES[(i + 1) % 11] + " " + LINES[i], LINES[i].upper()] for i in range(11)]),
        (["the cat sat on the mat .", "", "a b c d"], [["the cat sat on a mat ."], ["something"], ["a b c d e"]]),
        (["", ""], [["x"], ["y"]]),
        (["no overlap here at all"], [["completely different words stand there now"]]),
        (["one"], [["one"]]),
        (["one two three"], [["one two three four five six seven"]]),
        (mutated, [[x] for x in made]),
        (mutated, [[x, made[(i + 1) % len(made)], mutated[i] + " x"] for i, x in enumerate(made)]),
    ]
    cases = [{"predictions": p, "references": refs, "scores": translation_scores(p, refs, TOKENIZERS)} for p, refs in corpora]
    lines = []
    for line in LINES:
        tokens = {}
        for t in TOKENIZERS:
            tokens[t] = BLEU(tokenize=t)._preprocess_segment(line).split()
        lines.append({"line": line, "tokens": tokens})
    save("bleu.json", {"cases": cases, "lines": lines})


def labels():
    r = random.Random(3)
    cases = []
    for n, classes, right in [(50, 2, 0.7), (60, 3, 0.5), (1, 2, 1), (40, 12, 0.4), (30, 2, 0), (20, 1, 1), (25, 2, 0.9)]:
        true = [r.randrange(classes) for _ in range(n)]
        predicted = [t if r.random() < right else r.randrange(classes + (classes > 2)) for t in true]
        case = {"predictions": predicted, "references": true, "accuracy": float(sk.accuracy_score(true, predicted)),
                "matthews_correlation": float(sk.matthews_corrcoef(true, predicted))}
        for average in ["macro", "micro", "weighted"] + (["binary"] if classes == 2 else []):
            case[average] = float(sk.f1_score(true, predicted, average=average, zero_division=0))
        cases.append(case)
    numbers = []
    for kind in ["plain", "ties", "offset", "negative", "two"]:
        n = 2 if kind == "two" else 30
        x = [r.gauss(0, 1) for _ in range(n)]
        y = [0.5 * a + r.gauss(0, 1) for a in x]
        if kind == "ties":
            x, y = [round(a) for a in x], [round(a * 2) / 2 for a in y]
        if kind == "offset":
            x, y = [a + 1e6 for a in x], [a * 1e-3 - 5e3 for a in y]
        if kind == "negative":
            y = [-a ** 3 for a in x]
        numbers.append({"predictions": x, "references": y, "pearson": float(stats.pearsonr(x, y)[0]),
                        "spearmanr": float(stats.spearmanr(x, y)[0])})
    save("labels.json", {"labels": cases, "numbers": numbers})


def without_every_fifth(text):
    return " ".join(w for i, w in enumerate(text.split(" ")) if i % 5 != 4)


def real():
    """Summaries: the first two sentences of an abstract, a line each, against its first target and against all.
    Translations: the reference without every fifth word."""
    out = {}
    rows = [json.loads(x) for x in open(os.path.join(DATA, "scitldr", "test.jsonl"), encoding="utf-8")]
    scorer = rouge_scorer.RougeScorer(TYPES, use_stemmer=True)
    one = [scorer.score("\n".join(r["target"][:1]), "\n".join(r["source"][:2])) for r in rows]
    many = [scorer.score_multi(r["target"], "\n".join(r["source"][:2])) for r in rows]
    whole = [scorer.score("\n".join(r["source"]), "\n".join(r["source"][::2])) for r in rows[:100]]
    for name, scores in [("one", one), ("many", many), ("whole", whole)]:
        out["scitldr_" + name] = {"means": [float(np.mean([s[t].fmeasure for s in scores])) for t in TYPES],
                                  "first": [[s[t].fmeasure for t in TYPES] for s in scores[:5]]}
    with gzip.open(os.path.join(DATA, "multi30k", "test_2016_flickr.de.gz"), "rt", encoding="utf-8") as f:
        references = f.read().splitlines()
    predictions = [without_every_fifth(x) for x in references]
    out["multi30k"] = translation_scores(predictions, [[x] for x in references], TOKENIZERS)
    save("real.json", out)


os.makedirs(FOLDER, exist_ok=True)
stems()
rouge()
bleu()
labels()
if os.path.isdir(os.path.join(DATA, "scitldr")) and os.path.isdir(os.path.join(DATA, "multi30k")):
    real()
else:
    print(f"real.json is kept as it is: no scitldr and multi30k in {DATA}", file=sys.stderr)
