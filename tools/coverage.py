#!/usr/bin/env python3
"""Counts which share of the text examples of Axolotl and Unsloth hone's model types cover.

    tools/coverage.py [--hone build/cpu/bin/hone] [--data ../shared/data] [--least AXOLOTL UNSLOTH] [--names]

The lists are public: the base_model of each example configuration (field-lists/axolotl-base-models.txt) and the name
of each notebook (field-lists/unsloth-notebooks.txt). The tables below say which kind of model a name is, in order,
and the first that matches counts; what hone has is what `hone help --families` prints. --least: exit status 1 below
these percentages.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEES = "sees or hears"  # examples that tune more than text

# Regular expression for names in small letters; model_type of its text model in config.json.
AXOLOTL = [
    (r"vlm|-vl-|vl-|vl-450|internvl|llava|pixtral|voxtral|vision|ocr|glm-4\.6v|gemma-3n", SEES),
    (r"llama-4", "llama4_text"), (r"qwen3-next", "qwen3_next"), (r"kimi-linear", "kimi_linear"),
    (r"qwen3\.5.*-a\d+b", "qwen3_5_moe_text"), (r"qwen3\.5", "qwen3_5_text"),
    (r"qwen3-30b", "qwen3_moe"), (r"mixtral", "mixtral"), (r"gpt-oss", "gpt_oss"), (r"minimax", "minimax_m2"),
    (r"gemma-4", "gemma4_text"), (r"gemma-3-", "gemma3_text"), (r"gemma-2-", "gemma2"), (r"gemma-", "gemma"),
    (r"mistral-small-4", "mistral4"), (r"mistral-medium", "mistral_medium"), (r"ministral-3-", "ministral3"),
    (r"ministral-8b", "mistral"),
    (r"phi-1|phi-2", "phi"), (r"phi-", "phi3"),
    (r"falcon-h1", "falcon_h1"), (r"jamba", "jamba"), (r"mamba", "mamba"), (r"nemotron-3", "nemotron_h"),
    (r"granite-4", "granitemoehybrid"), (r"deepseek-v", "deepseek"), (r"glm-4\.7-flash|glm-5", "glm4_moe_lite"),
    (r"glm-4\.5", "glm4_moe"), (r"glm-4", "glm4"), (r"lfm2.*a1b", "lfm2_moe"), (r"lfm2", "lfm2"),
    (r"falcon-e", "bitnet"), (r"seed-oss", "seed_oss"), (r"c4ai-command-r7b", "cohere2"), (r"c4ai", "cohere"),
    (r"olmo-3", "olmo3"), (r"olmo-2", "olmo2"), (r"apertus", "apertus"), (r"hunyuan", "hunyuan_v1_dense"),
    (r"afm", "arcee"), (r"trinity", "afmoe"), (r"nemotron-mini", "nemotron"), (r"mimo", "mimo"),
    (r"gptq", "gptq"), (r"skywork.*qwen3|qwen3|plano", "qwen3"), (r"qwen", "qwen2"),
    (r"mistral|devstral|magistral", "mistral"), (r".", "llama"),
]
UNSLOTH = [
    (r"tts|audio|whisper|csm|llasa|orpheus|oute|spark|sesame", SEES),
    (r"vision|ocr|vl_|_vl|multimodal|pixtral|gemma3n|glimmer", SEES),
    (r"minilm", "bert"), (r"bge", "xlm-roberta"), (r"modernbert|bert_class", "modernbert"),
    (r"qwen3_5.*a\d+b|qwen3_6.*a\d+b", "qwen3_5_moe_text"), (r"qwen3_5|qwen3_6|qwen_3_5", "qwen3_5_text"),
    (r"gpt.oss", "gpt_oss"), (r"qwen3_moe|tinyqwen3_moe", "qwen3_moe"), (r"ernie", "ernie4_5_moe"),
    (r"gemma4", "gemma4_text"), (r"diffusiongemma", "diffusion_gemma"), (r"embeddinggemma", "embedding_gemma"),
    (r"gemma_?2|gemma_2", "gemma2"), (r"gemma_?3|functiongemma", "gemma3_text"), (r"gemma", "gemma"),
    (r"ministral", "ministral3"), (r"phi_", "phi3"), (r"falcon_h1", "falcon_h1"), (r"nemotron", "nemotron_h"),
    (r"granite4", "granitemoehybrid"), (r"glm_flash", "glm4_moe_lite"), (r"lfm", "lfm2"),
    (r"qwen_?3", "qwen3"), (r"qwen", "qwen2"), (r"mistral|zephyr|magistral|devstral", "mistral"), (r".", "llama"),
]


def kind_of(name, table):
    return next(kind for pattern, kind in table if re.search(pattern, name.lower()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=str(ROOT / "build/cpu/bin/hone"))
    parser.add_argument("--data", default=os.environ.get("HONE_DATA", str(ROOT / "../shared/data")))
    parser.add_argument("--least", nargs=2, type=float, default=(0, 0), metavar=("AXOLOTL", "UNSLOTH"))
    parser.add_argument("--names", action="store_true", help="list the examples that are not covered")
    arguments = parser.parse_args()
    lists = pathlib.Path(arguments.data) / "field-lists"
    if not lists.is_dir():
        print(f"skipped: no {lists}")
        return 77
    printed = subprocess.run([arguments.hone, "help", "--families"], check=True, capture_output=True, text=True).stdout
    have = {line.split()[0] for line in printed.splitlines()}
    enough = True
    for file, table, least in (("axolotl-base-models.txt", AXOLOTL, arguments.least[0]),
                               ("unsloth-notebooks.txt", UNSLOTH, arguments.least[1])):
        names = [line.strip() for line in (lists / file).read_text().splitlines() if line.strip()]
        kinds = collections.Counter(kind_of(name, table) for name in names)
        covered = sum(count for kind, count in kinds.items() if kind in have)
        share = 100 * covered / len(names)
        enough = enough and share >= least
        print(f"{file}: {covered} of {len(names)} examples, {share:.1f} %")
        for kind, count in kinds.most_common():
            print(f"  {'has' if kind in have else '   '} {kind:<20} {count:3}  {100 * count / len(names):4.1f} %")
        if arguments.names:
            for name in names:
                if kind_of(name, table) not in have:
                    print(f"      {name}: {kind_of(name, table)}")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
