#!/usr/bin/env bash
# tools/golden.sh [MODEL]   makes the files of tests/goldens again: all of them, or one tiny model.
# PYTHON names an environment with the peers (PyTorch, Transformers); else the one of bench/ is made.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-build/bench-venv/bin/python}
if [ ! -x "$python" ] && ! command -v "$python" >/dev/null; then
  tools/setup.sh build
  python3 -m venv build/bench-venv
  build/bench-venv/bin/pip install --quiet -r bench/requirements.txt
fi
if [ $# -gt 0 ]; then
  "$python" tools/golden_models.py "$@"
else
  for script in tools/golden_*.py; do
    echo "== $script"
    "$python" "$script"
  done
fi
git status --short -- tests/goldens
