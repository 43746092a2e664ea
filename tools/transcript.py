"""Parses transcripts: the head of run_tests.py says what their lines mean."""
import re

MOST_COLUMNS = 120


class Command:
    def __init__(self, line, number):
        self.line, self.number = line, number
        self.stdout_only = False
        self.status = 0
        self.stdin, self.expected = [], []


class Transcript:
    """A parsed .run file: `steps` holds Commands and (name, bytes) files in order."""

    def __init__(self, path):
        self.path, self.needs, self.timeout, self.env, self.steps = path, [], 120, {}, []
        with open(path, encoding="utf-8", newline="") as f:
            lines = f.read().split("\n")
        self.refuse_what_cannot_be_read(lines)
        at, command = 0, None
        while at < len(lines):
            line, number = lines[at], at + 1
            at += 1
            while at < len(lines) and lines[at].startswith("+ "):
                line += lines[at][1:]
                at += 1
            if m := re.match(r"# needs: *(.*)", line):
                self.needs += m.group(1).replace(",", " ").split()
            elif m := re.match(r"# timeout: *(\d+)", line):
                self.timeout = int(m.group(1))
            elif m := re.match(r"# env: *(\w+)=(.*)", line):
                self.env[m.group(1)] = m.group(2)
            elif m := re.match(r"# file(-crlf|-raw)? +(\S+)", line):
                body = []
                while at < len(lines) and lines[at] != "# end":
                    body.append(lines[at])
                    at += 1
                if at == len(lines):
                    raise ValueError(f"{path}:{number}: '# file' without '# end'")
                at += 1
                end = "\r\n" if m.group(1) == "-crlf" else "\n"
                text = "".join(b + end for b in body)
                self.steps.append((m.group(2), text[:-1] if m.group(1) == "-raw" else text))
                command = None
            elif line.startswith("#"):
                continue
            elif line.startswith("$ ") or line.startswith("$> "):
                command = Command(line.split(" ", 1)[1], number)
                command.stdout_only = line.startswith("$> ")
                self.steps.append(command)
            elif command is None:
                if line.strip():
                    raise ValueError(f"{path}:{number}: expected output before any command: {line}")
            elif line.startswith("< ") or line == "<":
                command.stdin.append(line[2:])
            elif m := re.match(r"\? (\d+)$", line):
                command.status = int(m.group(1))
            else:
                command.expected.append(line[1:] if line.startswith("\\") else line)
        for step in self.steps:
            if isinstance(step, Command):
                while step.expected and not step.expected[-1].strip():
                    step.expected.pop()

    def refuse_what_cannot_be_read(self, lines):
        data = False
        for number, line in enumerate(lines, 1):
            if line.startswith("# file"):
                data = True
            if len(line) > MOST_COLUMNS:
                raise ValueError(f"{self.path}:{number}: {len(line)} columns; {MOST_COLUMNS} is the most "
                                 "('+ ' continues a line)")
            if re.search(r"python3? +-c\b", line) or (not data and re.search(r"python3? +- *<<", line)):
                raise ValueError(f"{self.path}:{number}: Python in a transcript: use json, close, same or "
                                 "a program in tests/support")
            if line == "# end":
                data = False


def wrapped(line):
    """The line as lines of at most 120 columns, the later ones with '+ '."""
    pieces = []
    while len(line) > MOST_COLUMNS - 2:
        def rank(m):
            before, after = line[:m.start()], line[m.end():]
            kind = (3 if before.endswith((";", "&&", "|")) or after.startswith(("&& ", "| ", "|| ")) else
                    2 if after.startswith("--") else 1 if before.endswith((",", ".", ":")) else 0)
            return kind * 5 + m.start() / 6
        places = [m for m in re.finditer(r"(?<=[^ ]) (?=[^ ])", line[:MOST_COLUMNS - 2]) if m.start() > 8]
        if not places:
            break
        at = max(places, key=rank).start()
        pieces.append(line[:at])
        line = line[at + 1:]
    return [("+ " if i else "") + piece for i, piece in enumerate(pieces + [line])]


def wrap(path):
    with open(path, encoding="utf-8", newline="") as f:
        lines = f.read().split("\n")
    out, data = [], False
    for line in lines:
        data = data or line.startswith("# file")
        long = len(line) > MOST_COLUMNS and not data and not line.startswith("#")
        out += wrapped(line) if long else [line]
        data = data and line != "# end"
    if out != lines:
        with open(path, "w", encoding="utf-8", newline="") as f:
            f.write("\n".join(out))


def matches(expected, actual):
    """Whether the lines agree; '...' alone stands for any number of lines."""
    def line_matches(pattern, text):
        parts = [re.escape(p) for p in pattern.split("...")]
        return re.fullmatch(".*".join(parts), text, re.S) is not None

    reach = {0}
    for pattern in expected:
        if pattern.strip() == "...":
            reach = set(range(min(reach), len(actual) + 1)) if reach else set()
        else:
            reach = {i + 1 for i in reach if i < len(actual) and line_matches(pattern, actual[i])}
    return len(actual) in reach
