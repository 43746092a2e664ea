import json, os
pairs = [('A dog "runs.', "An animal moves."), ("The sun shines.", 'It " is dark.'), ("A bird sings.", "It is a bird."), ("The rain falls.", "The road is dry.")]
def write(task, name, rows):
    os.makedirs(task, exist_ok=True)
    open(f"{task}/{name}.tsv", "w").write("".join("\t".join(map(str, row)) + "\n" for row in rows))
two = lambda names: [names[i % len(names)] for i in range(4)]
def each(task, header, row, test_header, test_row, dev=("dev",), test=("test",), bom=""):
    for name in ("train", *dev):
        write(task, name, ([header] if header else []) + [row(i, *p) for i, p in enumerate(pairs)])
    for name in test:
        write(task, name, [test_header] + [test_row(i, *p) for i, p in enumerate(pairs[:2])])
    if bom:
        text = open(f"{task}/train.tsv").read()
        open(f"{task}/train.tsv", "w").write(bom + text)
third = ["index", "sentence1", "sentence2"]
plain = lambda i, a, b: [i, a, b]
each("CoLA", None, lambda i, a, b: ["gj04", i % 2, "", a], ["index", "sentence"], lambda i, a, b: [i, a])
each("SST-2", ["sentence", "label"], lambda i, a, b: [a, i % 2], ["index", "sentence"], lambda i, a, b: [i, a])
each("MRPC", ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"], lambda i, a, b: [i % 2, i, i + 10, a, b],
     ["index", "#1 ID", "#2 ID", "#1 String", "#2 String"], lambda i, a, b: [i, i, i + 10, a, b], bom="\ufeff")
each("QQP", ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"], lambda i, a, b: [i, 2 * i, 2 * i + 1, a, b, i % 2],
     ["id", "question1", "question2"], plain)
each("QNLI", ["index", "question", "sentence", "label"], lambda i, a, b: [i, a, b, two(["entailment", "not_entailment"])[i]],
     ["index", "question", "sentence"], plain)
each("RTE", third + ["label"], lambda i, a, b: [i, a, b, two(["entailment", "not_entailment"])[i]], third, plain)
each("WNLI", third + ["label"], lambda i, a, b: [i, a, b, i % 2], third, plain)
old = ["index", "genre", "filename", "year", "old_index", "source1", "source2", "sentence1", "sentence2"]
each("STS-B", old + ["score"], lambda i, a, b: [i, "news", "f", 2012, i, "s", "s", a, b, f"{i}.25"], old, lambda i, a, b: [i, "news", "f", 2012, i, "s", "s", a, b])
long = ["index", "promptID", "pairID", "genre", "sentence1_binary_parse", "sentence2_binary_parse", "sentence1_parse", "sentence2_parse", "sentence1", "sentence2"]
of = lambda i, a, b: [i, i, i, "fiction", "( a )", "( b )", "(R)", "(R)", a, b]
names = ["entailment", "neutral", "contradiction", "neutral"]
each("MNLI", long + ["label1", "gold_label"], lambda i, a, b: of(i, a, b) + [names[i], names[i]], long, of,
     dev=("dev_matched", "dev_mismatched"), test=("test_matched", "test_mismatched"))
# MRPC as it was first distributed.
os.makedirs("first", exist_ok=True)
text = open("MRPC/train.tsv").read()
open("first/msr_paraphrase_train.txt", "w").write(text)
open("first/msr_paraphrase_test.txt", "w").write(text)
open("first/dev_ids", "w").write("1\t11\n")
# A data set of the hub: parquet needs Arrow, so its rows are jsonl; ClassLabel says the names.
base = "hub/datasets/nyu-mll/glue"
os.makedirs(base + "/mnli")
labels = {"entailment": 0, "neutral": 1, "contradiction": 2}
for split, count in (("train", 4), ("validation_matched", 3), ("validation_mismatched", 2), ("test_matched", 2), ("test_mismatched", 1)):
    with open(f"{base}/mnli/{split}.jsonl", "w") as f:
        for i, (a, b) in enumerate(pairs[:count]):
            f.write(json.dumps(dict(premise=a, hypothesis=b, label=-1 if "test" in split else labels[names[i]], idx=i)) + "\n")
files = "".join(f"  - split: {s}\n    path: mnli/{s}.jsonl\n" for s in ("train", "validation_matched", "validation_mismatched", "test_matched", "test_mismatched"))
open(base + "/README.md", "w").write("---\ndataset_info:\n- config_name: mnli\n  features:\n  - name: premise\n    dtype: string\n  - name: hypothesis\n    dtype: string\n  - name: label\n    dtype:\n      class_label:\n        names:\n          '0': entailment\n          '1': neutral\n          '2': contradiction\n  - name: idx\n    dtype: int32\nconfigs:\n- config_name: mnli\n  data_files:\n" + files + "---\n")
