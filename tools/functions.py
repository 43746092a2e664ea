"""Finds the functions of a C++ file that clang-format has laid out, without a parser.

    for line, lines, name in bodies(text):     functions with a body, lambdas within them included
    for line, name in linked(text):            functions that other sources can call by name
"""
import re

NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.S)
NAMESPACE = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{")
NO_FUNCTION = re.compile(r"(?:if|for|while|switch|do|else|try|catch|return|namespace|struct|class|union|enum|extern)\b|\}")
# The end of a declarator with a body: parameters, then const or a type or initialisers.
HEAD = re.compile(r"\)\s*(?:(?:const|noexcept|override|final)\s*)*(?:->[^{]*)?(?:\s:\s.*)?\{$")
DEFINES = re.compile(r"(?!using |return|template|namespace|static |inline |typedef |class |struct |enum |extern |constexpr |[ }#])"
                     r"[\w:<>,*& ]+?[ &*>](\w+)\(")


def code_of(text):
    """The text with blanks for comments and strings; lines stay where they are."""
    return NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def indent(line):
    return len(line) - len(line.lstrip())


def bodies(text):
    lines = code_of(text).split("\n")
    opened = []  # (indent, name or None, first line) of each brace at the end of a line
    for n, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped.startswith("}"):
            while opened and opened[-1][0] > indent(line):
                opened.pop()
            if opened and opened[-1][0] == indent(line):
                _, name, first = opened.pop()
                if name:
                    yield first, n - first + 1, name
            if stripped.endswith("{"):  # } else {
                opened.append((indent(line), None, n))
        elif stripped.endswith("{"):
            first = n  # of the statement that opens the brace
            while first > 1 and lines[first - 2].strip() and not re.search(r"[;{}:]\s*$", lines[first - 2]) \
                    and not lines[first - 2].lstrip().startswith("#"):
                first -= 1
            head = " ".join(part.strip() for part in lines[first - 1:n])
            before = head.split("(")[0]
            name = re.search(r"([\w:~]+)$", before)
            is_function = name and "=" not in before and "[" not in before \
                and not NO_FUNCTION.match(head) and HEAD.search(head)
            opened.append((indent(lines[first - 1]), name.group(1) if is_function else None, first))


def linked(text):
    written, lines = text.split("\n"), code_of(text).split("\n")
    spaces = []
    for n, line in enumerate(lines, 1):
        space = NAMESPACE.match(line)
        if space and not line.rstrip().endswith("}"):
            spaces.append(space.group(1) or "")
        elif written[n - 1].startswith("}  // namespace") and spaces:
            spaces.pop()
        name = DEFINES.match(line)
        if not name or "" in spaces or (n > 1 and lines[n - 2].startswith("template")):
            continue
        rest = " ".join(lines[n - 1:n + 8])
        if "{" in rest and (";" not in rest or rest.index("{") < rest.index(";")):
            yield n, name.group(1)
