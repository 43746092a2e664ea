#!/usr/bin/env python3
"""Refuses what would let the house decay. Prints file, line and reason; exit status 1 if any.

    tools/check_layers.py                  everything
    tools/check_layers.py --only FILE...   findings in these files alone (pre-commit)
    tools/check_layers.py --lower          everything, and writes lower counts into tools/shape.txt

What it looks at:
  - src/LAYERS lists each room once, floors in the order base < engine < learn < operate < run
  - an include of another room must be named in USES of the room's CMakeLists.txt (tests, fuzzers
    and benches may also use TEST_USES) and that room must stand earlier in src/LAYERS
  - the files of a room make no cycle of includes, where x.h and x.cc count as one (the members of a
    shelf include its header, which includes none of them: their list is generated)
  - a room that USES names is included by a source that is not a test
  - every room has a folder and a line in MAP.md
  - a file of more than 1,000 lines, unless generated (.gen.); in src/run/commands of more than 200
  - a room's README.md: there, at most 25 lines of 110 columns, one line starting with "Never:"
  - HONE_TRY after another element of a braced list, or among the arguments of a new expression: when
    it returns from there, the compiler leaks the elements before it, or the new object's memory
  - every error code: used once, a page docs/errors/<code>.md with its title as the heading, a test that names it
  - a header that names error codes: it names those that its .cc raises
  - a type outside unnamed namespaces: defined once under its full name, or the linker mixes two
  - a name of an unnamed namespace: in one source of its room, and in one of its tests, because these
    are compiled together (cmake/HoneRoom.cmake); the same `using A = B;` may be in several
  - dlopen() and dlsym(): in base/core/module.cc alone
  - the time and sleeps, tests left out: by a Clock (base/core/clock.h), so that tests can move it
  - `kv_heads` times something outside models, ops and engine: learn/generate/cache_budget.h plans a KV cache
  - a flag in a string of src/engine, src/learn/data or src/learn/datasets, tests left out: they name a
    setting in backquotes (base/settings/flag_names.h); tasks and commands know the flags
  - a .cc without a header of its name has a head comment
  - functions of more than 60 lines, and functions of a .cc that another header than its own declares:
    their counts stand in tools/shape.txt and may only fall; --lower writes them
  - words that promise later work; exit or abort outside run/; disabled tests
"""
import argparse
import os
import re
import sys

import functions
from functions import NAMESPACE, NO_CODE

FLOORS = ["base", "engine", "learn", "operate", "run"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
CODE = re.compile(r'HONE_ERROR\(\s*(\w+)\s*,\s*"(H\d{4})"\s*,\s*"([^"]*)"')
LATER = re.compile(
    r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "not imple" + "mented",
                       "unimple" + "mented", "st" + "ub", "place" + "holder",
                       "for n" + "ow"]) + r")\b")
TYPE = re.compile(r"^(?:class|struct|union|enum(?: class| struct)?) (?:alignas\(\w+\) )?(\w+)(?: final)?"
                  r"(?: *:[^:].*)?(?: \{.*)?$")
DIES = re.compile(r"(?<![\w.>:])(?:std::)?(?:exit|abort|_exit|quick_exit)\s*\(")
LOADS, LOADER = re.compile(r"\bdl(?:open|sym)\s*\("), os.path.join("base", "core", "module.cc")
TIMES = re.compile(r"::now\(\)|\b(?:sleep_for|sleep_until|usleep|nanosleep|clock_gettime|gettimeofday)\s*\("
                   r"|\btime\((?:nullptr|NULL|0)\)")
TIMER = os.path.join("base", "core", "clock.cc")
# What a line in the first column defines: a type, an alias, or a function or constant.
NAME = re.compile(r"^(?:(?:struct|class|union|enum(?: class)?) |using (?=\w+ =)|(?!using |return|template|namespace)"
                  r"(?:[\w:<>,*&]+ )*[\w:<>,*&]+[ &*]+)(\w+)(?=\(|\[|\{| \{| =|;| final| :)")
# A flag of hone in a string; other programs' flags have dashes inside or take "=".
FLAG = re.compile(r'"(?:[^"\\]|\\.)*?(?<![\w-])--(?:[a-z]\w*(?![\w=+-])|\{)(?:[^"\\]|\\.)*"')
FLAGLESS = ("engine/", "learn/data/", "learn/datasets")
TEST = re.compile(r"_(test|fuzz|bench)\.cc$")
MOST_LINES = 1000
MOST_COMMAND_LINES = 200
MOST_FUNCTION_LINES = 60
README_LINES = 25
README_COLUMNS = 110
CACHE_SIZE = re.compile(r"\bkv_heads\b\s*\*(?!/)|\*\s*(?:\w+(?:\.|->))*kv_heads\b")


def lines_of(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read().splitlines()


def leaking_tries(text):
    """Line numbers of HONE_TRY after another element of a braced list or among arguments of new."""
    text = NO_CODE.sub(lambda m: re.sub(r"[^\n]", "_", m.group()), text)
    for m in re.finditer(r"\bHONE_TRY\(", text):
        depth, comma, at = 0, None, m.start() - 1
        while at >= 0 and not (depth == 0 and text[at] == ";"):
            c = text[at]
            if c in ")]}":
                depth += 1
            elif c in "([{" and depth > 0:
                depth -= 1
            elif c == "(" or c == "[":  # an argument of a call: only the list around it counts
                comma = None
                if c == "(" and re.search(r"\bnew [\w:<>]+$", text[max(0, at - 100):at]):
                    yield text.count("\n", 0, m.start()) + 1
                    break
            elif c == "{":
                declares = comma and re.match(r"\s*\w+ = ", text[comma + 1:])  # `const X a = ..., b = ...`
                if comma and not declares:
                    yield text.count("\n", 0, m.start()) + 1
                break
            elif c == "," and depth == 0 and comma is None:
                comma = at
            at -= 1


class Check:
    def __init__(self, root):
        self.root = root
        self.found = []
        self.rooms = []
        self.uses = {}
        self.used = {}
        self.test_uses = {}
        self.stems = {}
        self.types = {}
        self.hidden = {}
        self.codes = {}  # by their constants
        self.counts = {"files": 0, "includes": 0, "codes": 0}
        self.shape = {"long_functions": [], "declared_elsewhere": []}

    def say(self, path, line, text):
        self.found.append((os.path.relpath(path, self.root), line, text))

    def walk(self, folder, ends):
        for at, dirs, files in os.walk(os.path.join(self.root, folder)):
            dirs[:] = sorted(d for d in dirs if not d.startswith((".", "build", "__")))
            for f in sorted(files):
                if f.endswith(ends):
                    yield os.path.join(at, f)

    def room_of(self, relative):
        """The longest room name that is a folder above `relative` (a path below src/)."""
        folder = os.path.dirname(relative)
        while folder:
            if folder in self.rooms:
                return folder
            folder = os.path.dirname(folder)
        return None

    def layers(self):
        path = os.path.join(self.root, "src", "LAYERS")
        last = -1
        for n, line in enumerate(lines_of(path), 1):
            name = line.split("#")[0].strip()
            if not name:
                continue
            floor = name.split("/")[0]
            if floor not in FLOORS:
                self.say(path, n, f"'{name}' is on no floor: {' < '.join(FLOORS)}")
                continue
            if name in self.rooms:
                self.say(path, n, f"room '{name}' is listed twice")
            if FLOORS.index(floor) < last:
                self.say(path, n, f"'{name}' stands after a higher floor")
            last = max(last, FLOORS.index(floor))
            self.rooms.append(name)
            if not os.path.isdir(os.path.join(self.root, "src", name)):
                self.say(path, n, f"there is no folder src/{name}")
        map_page = os.path.join(self.root, "MAP.md")
        if os.path.exists(map_page):
            text = "\n".join(lines_of(map_page))
            for room in self.rooms:
                if f"`{room}`" not in text:
                    self.say(map_page, 0, f"does not name the room '{room}'")

    def declarations(self):
        for room in self.rooms:
            path = os.path.join(self.root, "src", room, "CMakeLists.txt")
            self.uses[room], self.test_uses[room], self.used[room] = set(), set(), set()
            if not os.path.exists(path):
                if os.path.isdir(os.path.dirname(path)):
                    self.say(path, 0, f"room '{room}' has no CMakeLists.txt")
                continue
            text = re.sub(r"#.*", "", "\n".join(lines_of(path)))
            call = re.search(r"hone_room\s*\(([^)]*)\)", text)
            if not call:
                self.say(path, 0, "no hone_room(...) call")
                continue
            words = call.group(1).split()
            if not words or words[0] != room:
                self.say(path, 0, f"hone_room names '{words[0] if words else ''}', folder is '{room}'")
            into = None
            for w in words[1:]:
                if w.isupper() or re.fullmatch(r"[A-Z_]+", w):
                    into = {"USES": self.uses, "TEST_USES": self.test_uses}.get(w)
                elif into is not None:
                    into[room].add(w)
            for used in sorted(self.uses[room] | self.test_uses[room]):
                if used not in self.rooms:
                    self.say(path, 0, f"'{room}' uses '{used}', which src/LAYERS does not list")
                elif self.rooms.index(used) >= self.rooms.index(room):
                    self.say(path, 0, f"'{room}' uses '{used}', which stands later in src/LAYERS")

    def sources(self):
        src = os.path.join(self.root, "src")
        for path in self.walk("src", (".cc", ".h", ".cu", ".cuh", ".def", ".inc")):
            relative = os.path.relpath(path, src)
            room = self.room_of(relative)
            text = lines_of(path)
            self.counts["files"] += 1
            if room is None:
                self.say(path, 0, "belongs to no room of src/LAYERS")
                continue
            if len(text) > MOST_LINES and ".gen." not in path:
                self.say(path, 0, f"{len(text)} lines; {MOST_LINES} is the most")
            elif room == "run/commands" and len(text) > MOST_COMMAND_LINES:
                self.say(path, 0, f"{len(text)} lines; {MOST_COMMAND_LINES} is the most for a command")
            beside = re.search(r"_(test|fuzz|bench)\.(cc|h)$", path)
            allowed = {room} | self.uses[room] | (self.test_uses[room] if beside else set())
            self.definitions(path, text)
            if not beside and ".gen." not in path:
                self.shapes(path, text)
            for n in leaking_tries("\n".join(text)):
                self.say(path, n, "HONE_TRY in a list or a new expression leaks: give it a statement of its own")
            for n, line in enumerate(text, 1):
                m = INCLUDE.match(line)
                if m:
                    self.include(path, n, room, m.group(1), allowed)
                    if not beside:
                        self.used[room].add(self.room_of(m.group(1)))
                        if self.room_of(m.group(1)) == room:
                            self.edge(relative, m.group(1), path, n)
                if (CACHE_SIZE.search(line) and not beside and not relative.startswith(("engine/", "learn/models/"))):
                    self.say(path, n, "sizes of a KV cache by a formula: ask learn/generate/cache_budget.h")
                if re.search(r"\bDISABLED_\w", line):
                    self.say(path, n, "a disabled test; delete it or give it a reason to skip")
                if not beside and room.startswith(FLAGLESS) and not line.lstrip().startswith("//") and FLAG.search(line):
                    self.say(path, n, "a flag in a string: name the setting in backquotes, or say what is wrong")
                code = line.split("//")[0]
                if room != "run" and not beside and DIES.search(code):
                    self.say(path, n, "ends the process; return an Error or use HONE_BUG_IF")
                if relative != LOADER and LOADS.search(code):
                    self.say(path, n, f"loads a library; call load_module() of {LOADER}")
                if relative != TIMER and not beside and TIMES.search(code):
                    self.say(path, n, "reads a clock or sleeps by itself; use a Clock of base/core/clock.h")

    def shapes(self, path, text):
        """Head comments, long functions, and functions that the header of their source does not declare."""
        code = "\n".join(text)
        for n, lines, name in functions.bodies(code):
            if lines > MOST_FUNCTION_LINES:
                self.shape["long_functions"].append((path, n, f"{name} has {lines} lines"))
        if not path.endswith((".cc", ".cu")):
            return
        header = os.path.splitext(path)[0] + ".h"
        if not os.path.exists(header):
            if text and not text[0].startswith("//"):
                self.say(path, 1, "no header of its name and no head comment: say what is in it")
            return
        declared = set(re.findall(r"\w+", "\n".join(lines_of(header))))
        for n, name in functions.linked(code):
            if name not in declared:
                self.shape["declared_elsewhere"].append((path, n, f"{name} is not declared in its header"))

    def ratchets(self, lower):
        path = os.path.join(self.root, "tools", "shape.txt")
        if not os.path.exists(path):
            return
        text = lines_of(path)
        for n, line in enumerate(text):
            name, _, most = line.partition(" ")
            if name not in self.shape:
                continue
            places = self.shape[name]
            if lower and len(places) < int(most):
                text[n] = f"{name} {len(places)}"
            if len(places) > int(most):
                for place in places:
                    self.say(*place)
                self.say(path, n + 1, f"{len(places)} {name}, {most} is the most")
        if lower:
            with open(path, "w", encoding="utf-8") as f:
                f.write("\n".join(text) + "\n")

    def edge(self, source, target, path, n):
        """x.h and x.cc are one stem, x; x.simd.h, which is compiled by itself, is another, x.simd."""
        source, target = os.path.splitext(source)[0], os.path.splitext(target)[0]
        if source != target:
            self.stems.setdefault(source, {}).setdefault(target, (path, n))

    def cycles(self):
        told = set()
        for first in sorted(self.stems):
            before, queue = {}, [first]  # the shortest way from `first` to itself
            while queue and first not in before:
                at = queue.pop(0)
                for other in sorted(self.stems.get(at, {})):
                    if other not in before:
                        before[other] = at
                        queue.append(other)
            if first not in before:
                continue
            way = [first]
            while len(way) == 1 or way[0] != first:
                way.insert(0, before[way[0]])
            if not told & set(way):
                path, n = self.stems[first][way[1]]
                names = " -> ".join(os.path.basename(stem) for stem in way)
                self.say(path, n, f"includes make a cycle: {names}")
            told |= set(way)

    def unused(self):
        for room in self.rooms:
            path = os.path.join(self.root, "src", room, "CMakeLists.txt")
            earlier = set(self.rooms[:self.rooms.index(room)])
            for other in sorted((self.uses[room] - self.used[room]) & earlier):
                self.say(path, 0, f"'{room}' names {other} in USES and includes nothing of it"
                                  " (TEST_USES is for tests)")

    def definitions(self, path, text):
        """Types that stand in the first column of a file formatted by clang-format."""
        spaces = []
        for n, line in enumerate(text, 1):
            opened = NAMESPACE.match(line)
            if opened and not line.endswith("}"):
                spaces.append(opened.group(1) or "")
            elif line.startswith("}  // namespace") and spaces:
                spaces.pop()
            if "" in spaces:
                self.hide(path, n, text)
            m = TYPE.match(line)
            if m and "" not in spaces and not line.endswith(";"):
                name = "::".join(spaces + [m.group(1)])
                first = self.types.setdefault(name, (path, n))
                if first[0] != path:
                    self.say(path, n, f"{name} is defined in {os.path.relpath(first[0], self.root)} too")

    def hide(self, path, n, text):
        """Names that line n, in an unnamed namespace, begins to define."""
        line = text[n - 1]
        names = NAME.findall(line)
        if re.match(r"constexpr |const |enum (?!class)", line):  # several at once
            whole = NO_CODE.sub("", " ".join(text[n - 1:n + 40]).split(";")[0])
            after = r" =|,| ?\}" if line.startswith("enum") else r"(?:\[\w*\])* ="
            names += re.findall(r"\b(k[A-Z]\w*)(?=" + after + ")", whole)
        for name in dict.fromkeys(names):
            together = re.search(r"_(slow_test|nightly_test|test|fuzz|bench)\.cc$", path)  # sources that become one program
            key = os.path.dirname(path), together and together.group(1), name
            first = self.hidden.setdefault(key, (path, line))
            if first[0] != path and not (line.startswith("using ") and line == first[1]):
                self.say(path, n, f"{name} is in the unnamed namespace of {os.path.basename(first[0])} too")

    def include(self, path, n, room, name, allowed):
        self.counts["includes"] += 1
        if ".gen." in name:
            return
        if not os.path.exists(os.path.join(self.root, "src", name)):
            near = os.path.join(os.path.dirname(path), name)
            why = "write it from src/" if os.path.exists(near) else "no such file below src/"
            self.say(path, n, f'include "{name}": {why}')
            return
        other = self.room_of(name)
        if other is None or other in allowed:
            return
        if self.rooms.index(other) > self.rooms.index(room):
            self.say(path, n, f'upward include "{name}": {other} stands after {room} in src/LAYERS')
        else:
            self.say(path, n, f'undeclared include "{name}": name {other} in USES of {room}')

    def readmes(self):
        for room in self.rooms:
            folder = os.path.join(self.root, "src", room)
            if not os.path.isdir(folder):
                continue
            path = os.path.join(folder, "README.md")
            if not os.path.exists(path):
                self.say(path, 0, f"room '{room}' has no README.md")
                continue
            text = lines_of(path)
            if len(text) > README_LINES:
                self.say(path, 0, f"{len(text)} lines; {README_LINES} is the most")
            for n, line in enumerate(text, 1):
                if len(line) > README_COLUMNS:
                    self.say(path, n, f"{len(line)} columns; {README_COLUMNS} is the most")
            if not any(re.match(r"[*_> -]*Never:", line) for line in text):
                self.say(path, 0, 'no line starting with "Never:"')

    def errors(self):
        codes = {}
        for path in self.walk("src", (".def",)):
            for n, line in enumerate(lines_of(path), 1):
                for constant, code, title in CODE.findall(line.split("//")[0]):
                    if code in codes:
                        self.say(path, n, f"{code} is taken by {codes[code][1]}")
                    codes[code] = (constant, os.path.relpath(path, self.root), n, path, title)
                    self.codes[constant] = code
        tests = []
        for path in self.walk("tests", (".run", ".case", ".py", ".hir")):
            tests.append("\n".join(lines_of(path)))
        for path in self.walk("src", ("_test.cc",)):
            tests.append("\n".join(lines_of(path)))
        tested = set(re.findall(r"\b(?:H\d{4}|k[A-Z]\w+)\b", "\n".join(tests)))
        for code, (constant, _, n, path, title) in sorted(codes.items()):
            self.counts["codes"] += 1
            page = os.path.join(self.root, "docs", "errors", code + ".md")
            if not os.path.exists(page):
                self.say(path, n, f"{code} has no page docs/errors/{code}.md")
            elif (heading := (lines_of(page) or [""])[0]) != f"# {code}: {title}":
                self.say(page, 1, f"'{heading}' is not '# {code}: {title}', the title in {os.path.relpath(path, self.root)}")
            if code not in tested and constant not in tested:
                self.say(path, n, f"no test names {code} or {constant}")
        pages = os.path.join(self.root, "docs", "errors")
        for page in sorted(os.listdir(pages)) if os.path.isdir(pages) else []:
            if re.fullmatch(r"H\d{4}\.md", page) and page[:-3] not in codes:
                self.say(os.path.join(pages, page), 0, f"no errors.def declares {page[:-3]}")

    def contracts(self):
        """A header that names error codes names each that its .cc raises, or the room's headers that
        the .cc includes do."""
        def named(path):
            text = "\n".join(lines_of(path))
            found = set(re.findall(r"\bH\d{4}\b", text))
            for first, last in re.findall(r"\bH(\d{4}) to H(\d{4})\b", text):
                found |= {f"H{i:04d}" for i in range(int(first), int(last) + 1)}
            return found

        for path in self.walk("src", (".h",)):
            cc = path[:-2] + ".cc"
            if path.endswith("errors.h") or not os.path.exists(cc) or not named(path):
                continue
            room = os.path.dirname(os.path.relpath(path, os.path.join(self.root, "src")))
            text = "\n".join(lines_of(cc))
            known = named(path)
            for header in re.findall(r'#include "' + re.escape(room) + r'/(\w+\.h)"', text):
                if header != "errors.h":
                    known |= named(os.path.join(os.path.dirname(path), header))
            raised = {self.codes[c] for c in re.findall(r"(?<!\.is\()\berr::(k\w+)", text) if c in self.codes}
            if raised - known:
                self.say(path, 0, f"does not name {', '.join(sorted(raised - known))}, which its .cc raises")

    def words(self):
        ends = (".cc", ".h", ".cu", ".py", ".sh", ".md", ".cmake", ".txt", ".def")
        me = os.path.abspath(__file__)
        paths = [p for d in ("src", "tools", "docs", "cmake", "bench") for p in self.walk(d, ends)]
        paths += [os.path.join(self.root, f) for f in ("README.md", "MAP.md", "CONTRIBUTING.md")]
        for path in paths:
            if os.path.abspath(path) == me or not os.path.exists(path):
                continue
            for n, line in enumerate(lines_of(path), 1):
                m = LATER.search(line)
                if m:
                    self.say(path, n, f"'{m.group(0)}': finish it, or take back what offers it")


def main():
    parser = argparse.ArgumentParser(description="see the head of this file")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--only", nargs="*", metavar="FILE")
    parser.add_argument("--lower", action="store_true")
    options = parser.parse_args()
    check = Check(options.root)
    check.layers()
    check.declarations()
    check.sources()
    check.cycles()
    check.unused()
    check.readmes()
    check.errors()
    check.contracts()
    check.words()
    check.ratchets(options.lower)
    found = check.found
    if options.only is not None:
        only = {os.path.normpath(f) for f in options.only}
        found = [f for f in found if f[0] in only]
    for path, line, text in sorted(found):
        print(f"{path}:{line}: {text}" if line else f"{path}: {text}")
    if found:
        print(f"check_layers: {len(found)} findings")
        return 1
    c = check.counts
    print(f"check_layers: {len(check.rooms)} rooms, {c['files']} files, {c['includes']} includes, "
          f"{c['codes']} error codes: as src/LAYERS says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
