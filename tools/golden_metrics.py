#!/usr/bin/env python3
"""Numbers of rouge-score, sacreBLEU, scikit-learn, scipy and seqeval, sentences of NLTK: tests/goldens/metrics/.

Needs rouge-score 0.1.2, sacrebleu 2.6, scikit-learn, scipy, seqeval 1.2, nltk 3.10. With the folders scitldr,
multi30k and punkt-en in HONE_DATA (default ../shared/data) also the numbers for real text (real.json; the text
itself is not kept).
"""
import gzip
import json
import os
import random
import sys

import numpy as np
from nltk.stem.porter import PorterStemmer
from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF
from seqeval.metrics import accuracy_score, classification_report
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


def entities():
    r = random.Random(5)
    schemes = {"bio": "BIO", "bioes": "BIOES", "io": "IO", "odd": "BIOESX."}
    cases = []
    for name, letters in schemes.items():
        for right in (0.9, 0.4, 0):
            def label():
                letter = r.choice(letters)
                return "O" if letter == "O" else letter + r.choice(["-LOC", "-PER", "-work-of-art"] + [""] * (name == "odd"))
            true = [[label() for _ in range(r.randint(1, 12))] for _ in range(12)]
            predicted = [[t if r.random() < right else label() for t in row] for row in true]
            cases.append((name, true, predicted))
    cases.append(("none", [["O", "O"]], [["O", "O"]]))
    out = []
    for name, true, predicted in cases:
        report = classification_report(true, predicted, output_dict=True, zero_division=0) if name != "none" else {}
        total = report.pop("micro avg", {"precision": 0, "recall": 0, "f1-score": 0})
        case = {"scheme": name, "predictions": [" ".join(x) for x in predicted], "references": [" ".join(x) for x in true],
                "precision": float(total["precision"]), "recall": float(total["recall"]), "f1": float(total["f1-score"]),
                "accuracy": float(accuracy_score(true, predicted))}
        case["types"] = {k: {"precision": float(v["precision"]), "recall": float(v["recall"]), "f1": float(v["f1-score"]),
                             "number": int(v["support"])} for k, v in report.items() if not k.endswith(" avg")}
        out.append(case)
    save("entities.json", out)


def fnv(text):
    h = 0xCBF29CE484222325
    for b in text.encode():
        h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


PUNKT = {
    "abbrev_types": ["dr", "e.g", "fig", "u.s", "co", "vs", "etc"],
    "collocations": [("##number##", "may"), ("s", "bach")],
    "sent_starters": ["however", "the"],
    "ortho_context": {"the": 1 << 1 | 1 << 5, "smith": 1 << 2, "we": 1 << 1 | 1 << 5, "table": 1 << 1 | 1 << 2 | 1 << 5, "however": 1 << 2,
                      "model": 1 << 5, "x": 1 << 4 | 1 << 5, "small": 1 << 3 | 1 << 5, "##number##": 1 << 1},
}
SENTENCES = [
    "Dr. Smith works at Acme Co. The model is good. We like it.",
    "It costs $3.50. 7 May is a date. See Fig. 3. Table 1 shows (e.g. here). However, no.",
    "He said \"Stop!\" Then he left. (It was late.) She stayed.",
    "Wait... What?! Really?? Yes!!! Ok . . . fine. Well... we go. End...",
    "J. S. Bach wrote it. S. Bach did. A. Small dog. B. the end. U.S. The law. U.S. Small law.",
    "First line.\nSecond line.  \n\n Third para. \t Tab.",
    "  Leading. Trailing.   ",
    "\u201cQuoted one.\u201d \u2018Next.\u2019 \u00abGuillemets.\u00bb After. \u201cNo break\u201d here.",
    "No end mark",
    "",
    "   ",
    ".",
    ". . .",
    "? ! .",
    "a.b.c. D.E.F. x-fig. The end--really. \"--So.\" -- dash.",
    "One.Two. Three.) Four.] five. 6.) 7. 8, 9.",
    "\u00c9tude no. 5. \u00e9t\u00e9. \u00c9t\u00e9. na\u00efve. \u4e2d\u6587\u3002 \u65e5\u672c. End.",
    "etc. The end, etc. etc., and so on. vs. Them.",
    "x. X. 12. twelve. 12. The twelve. -3.5. .5. 1,000. may 3. May.",
]


def sentences():
    tokenizer = PunktSentenceTokenizer()
    params = tokenizer._params
    params.abbrev_types.update(PUNKT["abbrev_types"])
    params.collocations.update(PUNKT["collocations"])
    params.sent_starters.update(PUNKT["sent_starters"])
    params.ortho_context.update(PUNKT["ortho_context"])
    r = random.Random(5)
    pieces = ["Dr.", "e.g.", "The", "the", "We", "we", "Smith", "model.", "Model.", "x.", "S.", "Bach", "3.", "May", "...", "--", "(", ")", '"', "?", "!",
              ".", " ", " ", " ", "\n", ",", "-", "'", "\u201d", "\u201c", "]", "co.", "However", "table", "Table", "12", ". .", ":", "\u00e9."]
    texts = SENTENCES + ["".join(r.choice(pieces) + r.choice(["", " ", " "]) for _ in range(r.randint(3, 14))) for _ in range(150)]
    save("sentences.json", {"abbrev_types": "\n".join(PUNKT["abbrev_types"]), "collocations": "\n".join("\t".join(c) for c in PUNKT["collocations"]),
                            "sent_starters": "\n".join(PUNKT["sent_starters"]),
                            "ortho_context": "\n".join(f"{w}\t{n}" for w, n in PUNKT["ortho_context"].items()),
                            "cases": [{"text": t, "sentences": tokenizer.tokenize(t)} for t in texts]})


def read_punkt(folder):
    lines = {name: open(os.path.join(folder, name), encoding="utf-8").read().split("\n")
             for name in ["abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab"]}
    lines = {name: [x for x in rows if x] for name, rows in lines.items()}
    params = PunktParameters()
    params.abbrev_types = set(lines["abbrev_types.txt"])
    params.collocations = {tuple(x.split("\t")) for x in lines["collocations.tab"]}
    params.sent_starters = set(lines["sent_starters.txt"])
    params.ortho_context.update((w, int(n)) for w, n in (x.split("\t") for x in lines["ortho_context.tab"]))
    return params


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
    tokenizer = PunktSentenceTokenizer()
    tokenizer._params = read_punkt(os.path.join(DATA, "punkt-en"))
    texts = [" ".join(r["source"]).strip() for r in rows]
    split = ["\n".join(tokenizer.tokenize(t)) for t in texts]
    score = [scorer.score("\n".join(tokenizer.tokenize(r["target"][0].strip())), t)["rougeLsum"].fmeasure for r, t in zip(rows, split)]
    out["scitldr_sentences"] = {"lines": sum(t.count("\n") + 1 for t in split), "fnv": str(fnv("\n".join(split))), "rougeLsum": float(np.mean(score))}
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
entities()
sentences()
if all(os.path.isdir(os.path.join(DATA, x)) for x in ("scitldr", "multi30k", "punkt-en")):
    real()
else:
    print(f"real.json is kept as it is: scitldr, multi30k or punkt-en is not in {DATA}", file=sys.stderr)
