"""swag_csv.py JSONL: prints the rows of a file in SWAG's form as csv with other names of columns."""
import csv
import json
import sys

rows = csv.writer(sys.stdout)
rows.writerow("id start how a b c d right".split())
for i, line in enumerate(open(sys.argv[1])):
    row = json.loads(line)
    rows.writerow([i, row["sent1"], row["sent2"], *[row[f"ending{k}"] for k in range(4)], row["label"]])
