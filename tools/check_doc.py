#!/usr/bin/env python3
"""Runs the commands of a page and compares what it shows with what they print.

    tools/check_doc.py docs/life-of-a-step.md      (from any folder; hone on the PATH)

An indented block whose first line is "    $ command" is run in one fresh folder; its other lines must be the
output, where a line "..." stands for any lines and "..." in a line for any text. "    > NAME" begins a block
that becomes the file NAME instead.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from transcript import matches  # noqa: E402


def blocks(path):
    block = []
    for line in open(path, encoding="utf-8").read().split("\n") + [""]:
        if line.startswith("    "):
            block.append(line[4:])
        elif not line.strip() and block and not block[-1] == "":
            block.append("")
        elif block:
            yield "\n".join(block).strip("\n").split("\n")
            block = []
    if block:
        yield "\n".join(block).strip("\n").split("\n")


def main():
    bad = run = 0
    with tempfile.TemporaryDirectory() as folder:
        for block in blocks(sys.argv[1]):
            if block[0].startswith("> "):
                with open(os.path.join(folder, block[0][2:]), "w", encoding="utf-8") as f:
                    f.write("\n".join(block[1:]) + "\n")
            elif block[0].startswith("$ "):
                run += 1
                done = subprocess.run(block[0][2:], shell=True, cwd=folder, capture_output=True, text=True)
                if not matches(block[1:], (done.stderr + done.stdout).rstrip("\n").split("\n")):
                    bad += 1
                    print(f"{sys.argv[1]}: {block[0]}\n  prints now:")
                    print("\n".join("    " + line for line in (done.stderr + done.stdout).split("\n")))
    print(f"{run} commands, {bad} differ")
    return 1 if bad or not run else 0


sys.exit(main())
