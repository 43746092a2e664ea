#!/usr/bin/env bash
# All paired benchmarks; options go to each of them (--write keeps the results, --pairs N, --tiny).
# PYTHON names an environment that has the peers already; else one is made in build/bench-venv.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-build/bench-venv/bin/python}
if [[ ! -x $python ]]; then
  python3 -m venv build/bench-venv
  build/bench-venv/bin/pip install --quiet -r bench/requirements.txt
fi
for each in train_step task_step decode beams tokenization scoring; do
  echo "== $each"
  "$python" "bench/$each.py" "$@"
done
