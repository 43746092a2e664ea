"""columns.py IN OUT N [NAME]   the first N columns of a csv, and an empty column NAME after them."""
import csv
import sys

source, target, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open(source, encoding="utf-8", newline="") as f:
    rows = [row[:n] for row in csv.reader(f)]
if len(sys.argv) > 4:
    rows = [rows[0] + [sys.argv[4]]] + [row + [""] for row in rows[1:]]
with open(target, "w", encoding="utf-8", newline="") as f:
    csv.writer(f).writerows(rows)
