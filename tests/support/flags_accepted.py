#!/usr/bin/env python3
"""Gives every task and preset data that cannot be used, and looks at the flags that the errors name.

    flags_accepted.py MODEL...     folders of models; a task takes the first one that it can train

Each flag of an error must be a flag of the command that printed it, with that task. A command line in backquotes is
for another command and is left out.
"""
import re
import subprocess
import sys

FILES = {
    "empty.txt": b"",
    "short.txt": b"a b\n",
    "numbers.csv": b"id,size\n1,2\n3,4\n",
    "cp1252.csv": b"text,label\ncaf\xe9 au lait,good\n",
    "one_label.csv": b"text,label\nthe cat,good\nthe dog,good\n",
    "words.jsonl": b'{"tokens": "the cat", "ner_tags": ["O", "O"]}\n',
    "pair.jsonl": b'{"translation": {"fr": "le chat", "it": "il gatto"}}\n',
    "chat.jsonl": b'{"messages": "hello"}\n',
}
COMMANDS = {
    "train": ["--do_train", "--max_steps", "1", "--output_dir", "out"],
    "check": [],
    "prepare": ["--output_dir", "shards"],
}
CASES = [["--train_file", name] for name in [*FILES, "missing.txt"]] + [
    ["--train_file", "short.txt", "--validation_split_percentage", "100"],
    ["--train_file", "short.txt", "--validation_split_percentage", "120"],
    ["--train_file", "short.txt", "--encoding", "utf-99"],
    [],
]


def run(*words):
    done = subprocess.run(["hone", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return done.stdout.decode("utf-8", "replace")


def flags_in(text):
    return set(re.findall(r"(?<![\w-])--([a-z]\w*)", re.sub(r"`[^`]*`", "", text)))


def said(output):
    """The lines of errors and findings, with what to do about them."""
    lines, keep = [], False
    for line in output.splitlines():
        keep = bool(re.match(r"(H\d{4}|error|warning|note) ", line)) or (keep and line.startswith("  "))
        if keep:
            lines.append(line)
    return "\n".join(lines)


def main():
    for name, content in FILES.items():
        with open(name, "wb") as f:
            f.write(content)
    tasks = re.findall(r"^With --(task|preset) (\w+):", run("train", "--help", "all"), re.M)
    named, refused = 0, []
    for kind, task in tasks:
        which = [f"--{kind}", task]
        for command, more in COMMANDS.items():
            known = flags_in(run(command, *which, "--help", "all")) | {"help", "config", kind}
            own = ["--source_lang", "en", "--target_lang", "de"] if "source_lang" in known else []
            for model in sys.argv[1:]:
                begin = [command, *which, "--model_name_or_path", model, *own, *more]
                if re.search(r"^(H21|error +H21)", run(*begin, "--train_file", "empty.txt"), re.M):
                    break
            for case in CASES:
                text = said(run(*begin, *case))
                named += len(flags_in(text))
                for flag in sorted(flags_in(text) - known):
                    refused.append(f"hone {command} {' '.join(which)} {' '.join(case)}: --{flag}\n{text}")
    print("\n".join(refused) if refused else "every flag is accepted")
    if len(tasks) < 8 or named < 100:
        print(f"{len(tasks)} tasks and {named} flags are too few")


main()
