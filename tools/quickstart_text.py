"""Makes train.jsonl and valid.jsonl out of package descriptions, the same ones on every run.

    apt-helper cat-file ...Translation-en | python3 tools/quickstart_text.py FOLDER TRAIN VALID

Standard input is Debian's Translation-en format (Package:, Description-en: and its long text).
Rows are {"text": "Package: ...\\nSummary: ...\\n\\n...\\n"}. Packages are taken in the order of a hash
of their names. Packages of one source share paragraphs, so no first sentence is taken twice:
nothing that is held out was seen in training.
"""
import hashlib
import json
import os
import re
import sys


def records(stream):
    package, summary, body = None, None, []
    for line in stream:
        if line.startswith("Package: "):
            package = line[9:].strip()
        elif line.startswith("Description-en: "):
            summary = line[16:].strip()
        elif line.startswith(" ") and summary is not None:
            body.append(line[1:].rstrip())
        elif not line.strip():
            if package and summary and body:
                yield package, summary, body
            package, summary, body = None, None, []


def long_text(body):
    """Lines of one paragraph joined; a line that starts with a blank (a list) stays a line."""
    out = []
    fresh = True
    for line in body:
        if line == ".":
            out.append("\n\n")
            fresh = True
        elif line.startswith(" "):
            out.append(("" if fresh else "\n") + line)
            fresh = False
        else:
            out.append(("" if fresh else " ") + line)
            fresh = False
    return re.sub(r"\n{3,}", "\n\n", "".join(out)).strip()


def main():
    folder, train, valid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rows, seen = [], set()
    stream = (b.decode("utf-8", "replace") for b in sys.stdin.buffer)
    for package, summary, body in sorted(
            records(stream), key=lambda r: hashlib.sha256(r[0].encode()).hexdigest()):
        text = long_text(body)
        first = re.split(r"(?<=[.!?])\s", text)[0].lower()
        if not 300 <= len(text) <= 1200 or first in seen or text.count("\n *") > 8:
            continue
        seen.add(first)
        rows.append({"text": f"Package: {package}\nSummary: {summary}\n\n{text}\n\n"})
        if len(rows) == train + valid:
            break
    if len(rows) < train + valid:
        sys.exit(f"only {len(rows)} descriptions of {train + valid}: run apt-get update")
    for name, part in (("valid", rows[:valid]), ("train", rows[valid:])):
        with open(os.path.join(folder, name + ".jsonl"), "w", encoding="utf-8") as f:
            for row in part:
                f.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
