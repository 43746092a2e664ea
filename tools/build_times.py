#!/usr/bin/env python3
"""Where the time of a build and its tests went, and what was skipped.

    tools/build_times.py build/ci build/asan [--rooms 12] [--tests 12] [--budget tools/ci_budget.txt --wall SECONDS]

Reads what ninja (.ninja_log) and ctest (tests.xml, by --output-junit) left in the folders. Seconds of a
room are those of its compilers and linkers, one after another; the wall time of a build is less, as
several run at once. --budget fails (exit status 1) where a figure is above its line in the file; --wall
is the time of the whole run. Lines of the budget: `<name> <seconds>`, where the name is

    machine     a fixed compilation on the machine that the other figures are from: where it takes longer now,
                they are as many times larger
    wall        the whole run
    build       all compilers and linkers of the folders together
    file        the slowest single compiler or linker
    test        the slowest single test
    skipped     not seconds: the tests that were skipped

A skipped test says why in a line 'skipped: ...', with the package that it lacks.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree


def steps(folder):
    """(seconds, output) of each compiler and linker that the last build of an output ran."""
    last = {}
    path = os.path.join(folder, ".ninja_log")
    if not os.path.exists(path):
        sys.exit(f"build_times: no build in {folder}: {path} is missing")
    with open(path, encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                begin, end, _, output, _ = line.rstrip("\n").split("\t")
                last[output] = (int(end) - int(begin)) / 1000
    return [(seconds, output) for output, seconds in last.items()]


FIXED = """#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
int main(int argc, char** argv) {
  std::map<std::string, std::function<bool(const std::string&)>> tests;
  for (const char* text : {"a+b*", "[0-9]+(x|y)"})
    tests[text] = [r = std::regex(text)](const std::string& s) { return std::regex_match(s, r); };
  std::cout << std::any_of(tests.begin(), tests.end(), [&](auto& t) { return t.second(argv[argc - 1]); });
}
"""


def machine_seconds():
    """What one compiler takes for FIXED, now."""
    def once():
        begin = time.monotonic()
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-x", "c++", "-c", "-o", os.devnull, "-"], input=FIXED, text=True, check=True)
        return time.monotonic() - begin
    return statistics.median(once() for _ in range(5))


def target_of(output):
    m = re.search(r"/CMakeFiles/([^/]+)\.dir/", "/" + output)
    name = m.group(1) if m else "links"
    return re.sub(r"^hone_", "", name)


def tests(folder):
    """(seconds, name, reasons to skip) of each test of ctest's last run."""
    path = os.path.join(folder, "tests.xml")
    if not os.path.exists(path):
        return []
    out = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        text = case.findtext("system-out") or ""
        reasons = re.findall(r"^skipped: (.*)$", text, re.M)
        parts = re.search(r"^\[  SKIPPED \] (\d+) tests?", text, re.M)
        if parts:
            why = re.search(r"Skipped\n(.+)$", text, re.M)
            reasons = [f"{parts.group(1)} of its tests: {why.group(1) if why else ''}"]
        elif case.find("skipped") is not None and not reasons:
            reasons = ["without a reason"]
        out.append((float(case.get("time", 0)), case.get("name"), reasons))
    return out


def table(rows, most):
    for seconds, name in sorted(rows, reverse=True)[:most]:
        print(f"  {seconds:7.1f} s  {name}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folders", nargs="+")
    p.add_argument("--rooms", type=int, default=12)
    p.add_argument("--tests", type=int, default=12)
    p.add_argument("--budget")
    p.add_argument("--wall", type=float, default=0)
    a = p.parse_args()
    figures = {"wall": a.wall, "build": 0.0, "file": 0.0, "test": 0.0, "skipped": 0}
    skipped = []
    for folder in a.folders:
        made, ran = steps(folder), tests(folder)
        rooms = {}
        for seconds, output in made:
            rooms[target_of(output)] = rooms.get(target_of(output), 0) + seconds
        total = sum(rooms.values())
        print(f"{folder}: {len(made)} compilers and linkers, {total:.0f} s")
        table([(s, n) for n, s in rooms.items()], a.rooms)
        if ran:
            print(f"{folder}: {len(ran)} tests, {sum(t[0] for t in ran):.0f} s")
            table([(s, n) for s, n, _ in ran], a.tests)
        figures["build"] += total
        figures["file"] = max([figures["file"]] + [s for s, _ in made])
        figures["test"] = max([figures["test"]] + [t[0] for t in ran])
        skipped += [(name, reason) for _, name, reasons in ran for reason in reasons]
    figures["skipped"] = len({name for name, _ in skipped})
    print(f"skipped: {figures['skipped']}")
    for name, reason in skipped:
        print(f"  {name}: {reason}")
    if not a.budget:
        return 0
    return 1 if above_budget(figures, a.budget) else 0


def above_budget(figures, path):
    with open(path, encoding="utf-8") as f:
        budget = [line.split("#")[0].split() for line in f]
    budget = {words[0]: float(words[1]) for words in budget if words}
    larger = 1.0
    if "machine" in budget:
        there, here = budget.pop("machine"), machine_seconds()
        larger = max(1.0, here / there)
        print(f"machine: {here:.2f} s for the fixed compilation, {there:.2f} in {path}: its seconds count {larger:.2f} times")
    above = 0
    for name, most in budget.items():
        if name not in figures:
            sys.exit(f"build_times: {path}: no figure '{name}'")
        most *= 1 if name == "skipped" else larger
        if figures[name] > most:
            print(f"build_times: {name} is {figures[name]:.0f}, at most {most:.0f} by {path}")
            above += 1
    return above


if __name__ == "__main__":
    sys.exit(main())
