#!/usr/bin/env python3
"""Makes tests/goldens/module_order.json again: the order of weights in PyTorch's optimizers.

Needs torch and transformers. For each model in tests/goldens (SHELVES) the groups that Transformers' Trainer makes: the
names of named_parameters() that decay, and the others. Of layers, only the first (number 0) is listed.
"""
import json
import pathlib
import re

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens"
SHELVES = {"models": "*_tiny", "encoders": "*_masked_lm", "heads": "*"}


def groups_of(folder):
    import transformers
    config = transformers.AutoConfig.from_pretrained(folder)
    model = getattr(transformers, config.architectures[0])._from_config(config)
    decayed = set(transformers.Trainer.get_decay_parameter_names(None, model))
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    inner = re.compile(r"\.[1-9]\d*\.")
    return [[name for name in names if (name in decayed) == decay and not inner.search(name)] for decay in (True, False)]


def main():
    import transformers
    transformers.logging.set_verbosity_error()
    found = {}
    for shelf, form in SHELVES.items():
        for folder in sorted((GOLDENS / shelf).glob(form)):
            config = json.loads((folder / "config.json").read_text())
            if hasattr(transformers, config["architectures"][0]):
                found[f"{shelf}/{folder.name}"] = groups_of(folder)
    text = "{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(groups)}" for name, groups in found.items()) + "\n}\n"
    (GOLDENS / "module_order.json").write_text(text)
    print(f"{len(found)} models, {len(text)} bytes")


if __name__ == "__main__":
    main()
