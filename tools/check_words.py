#!/usr/bin/env python3
"""Counts phrases that docs/english.md replaces by plainer ones. Exit status 1 if there are too many.

    tools/check_words.py                  all areas; a count above tools/words.txt is refused
    tools/check_words.py --only FILE...   the files of a commit, compared with the last commit
    tools/check_words.py --list [AREA]    every place, as file:line: phrase -> what to write
    tools/check_words.py --lower          writes lower counts into tools/words.txt

Areas, and what is read in each:
    help      help texts of src/**/*.def, docs/commands.md           must be 0
    errors    docs/errors, errors.def, strings of the sources        must be 0
    readme    README.md                                              must be 0
    docs      CONTRIBUTING.md, MAP.md, other pages, room READMEs
    headers   comments of src/**/*.h
    sources   comments of other files of src
Counts of the last three stand in tools/words.txt and may only fall.
"""
import argparse
import bisect
import itertools
import os
import re
import subprocess
import sys

ZERO = ("help", "errors", "readme")
AREAS = ZERO + ("docs", "headers", "sources")

# (pattern, what to write instead).
PHRASES = [(re.compile(p), say) for p, say in [
    (r"(?<![\w-])Of (?!course\b)", "name the subject first"),
    (r"(?<![Tt]here )\b(?:is|are|was|were|be|been) no (?!longer\b|more than\b|fewer than\b|less than\b)\w+",
     "is not a ..."),
    (r"\b(?:is|are) none of\b", "is not one of"),
    (r"(?i)\bbehind\b(?! (?:a|the) (?:proxy|mirror|firewall))", "after"),
    (r"(?i)\b(?:stands|stand|stood)\b(?! for\b)", "is"),
    (r"(?i)\b(?:lies|lie|lay)\b(?! about\b)", "is"),
    (r"(?i)\banew\b", "again, from the start"),
    (r"(?i)\b(?:goes|go|going) on\b", "continues"),
    (r"(?i)\bso (?:many|much)\b", "at most N, this many"),
    (r"(?i)\bdepart(?:s|ed|ing|ure|ures)?\b", "differ"),
    (r"(?i)\b(?:is|are|was|were|be|unless|when|not) told\b", "is given, is set"),
    (r"(?i)\bwish(?:es|ed)?\b", "option, request"),
    (r"(?i)\bnot offered\b", "not supported"),
    (r"(?i)\bwithout a word\b|\bin silence\b", "silently"),
    (r"(?i)\bgo(?:es)? before\b", "takes precedence over"),
    (r"(?i)\bwho(?:ever)? (?:writes|reads|wants|has|edited)\b", "if you ..."),
    (r"(?i)\bNo such thing\b", "say what is missing"),
    (r"(?i)\bany more\b", "no longer; further ones"),
    (r"(?i)\bbegun\b", "started"),
    (r"(?i)\bfor who\b", "say what it does"),
    (r"(?i)\bgo(?:es)? with\b", "belongs to, is destroyed with"),
    (r"(?i)\bthat (?:is|are) to be\b", "to do: 'bytes to send'"),
    (r"(?i)(?<!far )(?<!soon )(?<!long )\bas (?!soon\b|long\b|far\b|well\b|many\b|much\b)"
     r"[\w']+(?: [\w']+){0,3} (?:says?|have|has)\b(?! (?:been|no|to)\b)",
     "name the source: 'in the form of', 'from'"),
    (r"(?i)\b(?:\w+ed|found|sooner|kept|begins?) so\b(?! (?:that|far)\b)", "this way"),
    (r"(?i)\bpassed over\b", "skipped, ignored"),
    (r"\b[Ww]ithout:", "unset:, none:"),
    (r"(?<=[.:;] )(?:What|Where)\b(?! to do\b)", "name the subject first; 'if' for a condition"),
    (r"(?i)\bwhere (?:there (?:is|are) no(?:ne)?\b|none (?:is|are)\b|(?:it is|they are) not\b)",
     "'if' for a condition"),
    (r"\bThe same(?: of\b|[,:])", "repeat the noun"),
    (r"(?i)\bin and out\b", "reads and writes"),
    (r"(?i)\bany number of times\b", "repeatedly"),
    (r"(?i)\b(?:is|are|was|were) to be \w+", "'rows to predict', or a plain verb"),
    (r"(?i)\band their kin\b", "such as"),
    (r"(?i)\blately\b", "recent"),
    (r"(?i)\b(?:bounds|flags?|families|names?|packages|places?|values) (?:given|listed|named)[.,;]",
     "that the message names"),
    (r"(?<=#) (?:What|Where|Which|Who|Whose|How)\b(?! to do\b)", "a heading is a noun"),
]]
# The first word of a comment.
START = (re.compile(r"(?:Until|Before|Without|What|Where|Which|Whose|How|Why|Who)\b"), "begin with the noun or the verb")
HELP = (re.compile(r"^(?:of|those of|that of)\b"), "begin with the noun")

CPP = re.compile(r'//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|R"\((?:.|\n)*?\)"|'
                 r"'(?:[^'\\\n]|\\.)+'", re.S)


def area_of(path):
    """The areas of a file with what is read: ((area, 'comments'|'strings'|'text'), ...)."""
    name = os.path.basename(path)
    if path == "docs/english.md" or "/testdata/" in path:
        return ()
    if path == "README.md":
        return (("readme", "text"),)
    if path == "docs/commands.md":
        return (("help", "text"),)
    if path.startswith("docs/errors/") and name.endswith(".md"):
        return (("errors", "text"),)
    if name.endswith(".md") and (path.count("/") == 0 or path.startswith(("docs/", "src/", "bench/", "tests/"))):
        return (("docs", "text"),)
    if not path.startswith("src/"):
        return ()
    if name.endswith(".def"):
        return (("errors" if name == "errors.def" else "help", "strings"), ("sources", "comments"))
    test = re.search(r"_(test|fuzz|bench)\.(cc|h)$", name) or name.endswith("_test.def")
    if name.endswith((".h", ".cc", ".inc")) and ".gen." not in name:
        comments = ("headers" if name.endswith(".h") else "sources", "comments")
        return (comments,) if test else (comments, ("errors", "strings"))
    return ()


def blank(pattern, text):
    """The text with each match replaced by as many blanks."""
    return re.sub(pattern, lambda m: " " * len(m.group()), text)


def pieces(text, kind):
    """(offset, piece) of what is read of a file; a comment's lines are one piece. Names in `` are left out."""
    if kind == "text":
        yield 0, blank(r"`[^`\n]*`", text)
        return
    for m in CPP.finditer(text):
        token = m.group()
        comment = token.startswith(("//", "/*"))
        if comment and kind == "comments":
            yield m.start(), blank(r"`[^`\n]*`", blank(r"\n?[ \t]*//+|/\*|\*/", token))
        elif not comment and kind == "strings" and token[0] in '"R' and " " in token:
            yield m.start(), token


def find(path, text):
    """[(area, line, phrase, what to write)] of one file. Phrases may go over the ends of lines."""
    found = []
    starts = [0] + [m.end() for m in re.finditer("\n", text)]
    for area, kind in area_of(path):
        for offset, piece in pieces(text, kind):
            words = [(m.start(), m.group()) for m in re.finditer(r"\S+", piece)]
            flat = " ".join(word for _, word in words)
            ends = list(itertools.accumulate(len(word) + 1 for _, word in words))

            def add(at, phrase, say):
                word = words[bisect.bisect_right(ends, at)][0]
                found.append((area, bisect.bisect_right(starts, offset + word), phrase, say))

            for pattern, say in PHRASES:
                for m in pattern.finditer(flat):
                    add(m.start(), m.group(), say)
            if kind == "comments" and (m := START[0].match(flat)):
                add(0, m.group(), START[1])
            if area == "help" and kind == "strings" and (m := HELP[0].match(flat.strip('"'))):
                add(0, m.group(), HELP[1])
    return found


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def all_files(root):
    for top in ("docs", "src", "bench", "tests"):
        for at, dirs, files in os.walk(os.path.join(root, top)):
            dirs[:] = sorted(d for d in dirs if d not in ("goldens", "fuzz", "results"))
            for f in sorted(files):
                yield os.path.relpath(os.path.join(at, f), root)
    for f in sorted(os.listdir(root)):
        if f.endswith(".md"):
            yield f


def allowed_counts(root):
    path = os.path.join(root, "tools", "words.txt")
    counts = dict.fromkeys(ZERO, 0)
    if os.path.exists(path):
        for line in read(path).splitlines():
            if line and not line.startswith("#"):
                area, number = line.split()
                counts[area] = int(number)
    return counts


def only(root, files):
    """A file of a commit may not hold more of the phrases than it held before."""
    bad = 0
    for f in files:
        path = os.path.normpath(f)
        if not area_of(path) or not os.path.exists(os.path.join(root, path)):
            continue
        now = find(path, read(os.path.join(root, path)))
        old = subprocess.run(["git", "-C", root, "show", f"HEAD:{path}"], capture_output=True, check=False)
        before = find(path, old.stdout.decode("utf-8", "replace"))
        for area in AREAS:
            here = [x for x in now if x[0] == area]
            most = 0 if area in ZERO else sum(x[0] == area for x in before)
            if len(here) > most:
                for _, line, phrase, say in here:
                    print(f"{path}:{line}: '{phrase}': {say}")
                print(f"{path}: {len(here)} phrases that docs/english.md replaces, at most {most} allowed")
                bad += 1
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description="see the head of this file")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--only", nargs="*", metavar="FILE")
    parser.add_argument("--list", nargs="?", const="all", metavar="AREA", choices=("all",) + AREAS)
    parser.add_argument("--lower", action="store_true")
    options = parser.parse_args()
    root = options.root
    if options.only is not None:
        return only(root, options.only)
    places = []
    for path in all_files(root):
        if area_of(path):
            places += [(area, path, line, phrase, say) for area, line, phrase, say in
                       find(path, read(os.path.join(root, path)))]
    counts = {area: sum(p[0] == area for p in places) for area in AREAS}
    allowed = allowed_counts(root)
    if options.list:
        for area, path, line, phrase, say in places:
            if options.list in ("all", area):
                print(f"{path}:{line}: '{phrase}': {say}")
    if options.lower:
        with open(os.path.join(root, "tools", "words.txt"), "w", encoding="utf-8") as f:
            f.write("# Phrases of tools/check_words.py that are left in each area; tools/check_words.py --lower\n"
                    "# writes this file. The counts may only fall; help, errors and readme stay at 0.\n")
            for area in AREAS:
                if area not in ZERO:
                    f.write(f"{area} {min(counts[area], allowed.get(area, counts[area]))}\n")
        return 0
    bad = [area for area in AREAS if counts[area] > allowed.get(area, 0)]
    for area in bad:
        if area in ZERO and not options.list:
            for _, path, line, phrase, say in [p for p in places if p[0] == area]:
                print(f"{path}:{line}: '{phrase}': {say}")
        print(f"{area}: {counts[area]} phrases that docs/english.md replaces, at most {allowed.get(area, 0)} allowed"
              + ("" if area in ZERO else f" (tools/check_words.py --list {area} shows them)"))
    print("check_words: " + ", ".join(f"{area} {counts[area]}" for area in AREAS))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
