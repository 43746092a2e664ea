#!/usr/bin/env python3
"""The arguments of Transformers' trainers and example scripts, and whether hone knows each of them.

    tools/transformers_arguments.py                    every name of the list has its place in docs/commands.md
    tools/transformers_arguments.py --installed        the installed Transformers has no name that the list lacks
    tools/transformers_arguments.py --installed --add  adds such names to the list

The list is tests/goldens/learn_train/transformers_arguments.txt: a head in brackets (a class, or a script as
`train --task T`) and a name a line. Names stay in it when a later version drops them. docs/commands.md is what the
program says of itself (tests/docs/commands.run), so a name that it holds works, has no effect or is refused by name.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "goldens" / "learn_train" / "transformers_arguments.txt"
CLASSES = ["TrainingArguments", "Seq2SeqTrainingArguments"]


def read_list():
    heads, names = {}, None
    for line in LIST.read_text().splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        if line.startswith("["):
            names = heads.setdefault(line[1:-1], [])
        else:
            names.append(line)
    return heads


def known():
    """Task -> every flag that `hone train --task T` knows; "" has those of all tasks."""
    page = (ROOT / "docs" / "commands.md").read_text()
    train = page[page.index("# hone train"):]
    train = train[:re.search(r"\n# ", train[2:]).start() + 2] if re.search(r"\n# ", train[2:]) else train
    parts = re.split(r"\n### With --task (\w+):", train)

    def flags(text):
        others = re.findall(r"; also ((?:--\w+(?:, )?)+)", text)  # names of the same setting
        return set(re.findall(r"^(?:\||-) `--(\w+)`", text, re.M)) | set(re.findall(r"--(\w+)", " ".join(others)))

    found = {"": flags(parts[0])}
    for task, text in zip(parts[1::2], parts[2::2]):
        found[task] = flags(text) | found[""]
    return found


def check():
    flags, count, missing = known(), 0, []
    tasks = {"TrainingArguments": [t for t in flags if t], "Seq2SeqTrainingArguments": ["summarization", "translation"]}
    for head, names in read_list().items():
        for task in tasks.get(head, [head.split()[-1]]):
            for name in names:
                count += 1
                if name not in flags[task]:
                    missing.append(f"hone train --task {task} does not know --{name} of {head}")
    print("\n".join(missing) if missing else "every argument is known")
    return 1 if missing or count < 500 else 0


def installed(add):
    import dataclasses

    import transformers
    heads, fresh, before = read_list(), [], set()
    for name in CLASSES:
        fields = {f.name for f in dataclasses.fields(getattr(transformers, name))} - before
        before |= fields
        fresh += [(name, f) for f in sorted(fields) if f not in heads[name]]
    for head, name in fresh:
        print(f"{name} of {head} is not in {LIST.relative_to(ROOT)}")
        heads[head].append(name)
    if add and fresh:
        comments = [line for line in LIST.read_text().splitlines() if line.startswith("#")]
        text = "\n".join(comments) + "\n"
        for head, names in heads.items():
            text += f"\n[{head}]\n" + "\n".join(sorted(names)) + "\n"
        LIST.write_text(text)
    if not fresh:
        print("the list is complete")
    return 1 if fresh and not add else 0


def main():
    parser = argparse.ArgumentParser(description="see the head of this file")
    parser.add_argument("--installed", action="store_true")
    parser.add_argument("--add", action="store_true")
    options = parser.parse_args()
    return installed(options.add) if options.installed else check()


if __name__ == "__main__":
    sys.exit(main())
