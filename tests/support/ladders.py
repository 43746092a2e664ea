"""The column of hone in docs/memory-ladders.md is what hone plan prints, and each difference is itemised.

    ladders.py PAGE            compares; prints the number of rows
    ladders.py PAGE --write    writes hone's figures and the ratios into the page

A row ends with the flags of `hone plan`: | configuration | published GiB | hone GiB | ratio | items | flags |. Items such
as "+5.2 a" are GiB that the other program has more than hone; with them the ratio must be within 10 %.
"""
import json
import re
import shlex
import subprocess
import sys


def planned_gib(flags):
    """Arena and runtime of the device, a rank of several."""
    done = subprocess.run(["hone", "plan", *shlex.split(flags), "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(f"hone plan {flags}\nended with status {done.returncode}:\n{done.stderr}")
    plan = json.loads(done.stdout)
    return plan["peak_bytes"]["device"] / 2**30 + 1.0


def main():
    page = sys.argv[1]
    lines, rows, wrong = open(page).read().split("\n"), 0, []
    for number, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 6 or not cells[5].startswith("`--"):
            continue
        rows += 1
        published, hone = float(cells[1]), planned_gib(cells[5].strip("`"))
        figures = [f"{hone:.1f}", f"{hone / published:.2f}"]
        items = sum(float(x) for x in re.findall(r"[+-][0-9.]+", cells[4]))
        if abs((hone + items) / published - 1) > 0.10:
            wrong.append(f"{cells[0]}: {hone:.1f} and {items:+.1f} are not within 10 % of {published}")
        if cells[2:4] != figures and "--write" not in sys.argv:
            wrong.append(f"{cells[0]}: the page says {cells[2:4]}, hone plan {figures}")
        cells[2:4] = figures
        lines[number] = "| " + " | ".join(cells) + " |"
    if "--write" in sys.argv:
        open(page, "w").write("\n".join(lines))
    print("\n".join(wrong) if wrong else f"{rows} rows")


main()
