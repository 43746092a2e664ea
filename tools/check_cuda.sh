#!/usr/bin/env bash
# What only a machine with an NVIDIA GPU can show: conformance of the kernels, goldens of every family, steps that
# neither wait nor allocate, transcripts, compute-sanitizer where it is installed, and times against Transformers.
# PAIRS (5) of each case; BENCH=no leaves the times out. Results are kept in bench/results; bench/results/<card>.md has
# times, launches and bytes by op, MFU and memory.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/${PRESET:-cpu}

usable=$($build/bin/hone doctor --json |
  python3 -c 'import json, sys; print(sum(g["usable"] for g in json.load(sys.stdin)["gpus"]))')
if [ "$usable" = 0 ]; then
  echo "check-cuda needs an NVIDIA GPU from V100 on and its driver; hone doctor shows what is here:" >&2
  $build/bin/hone doctor | sed -n '/^gpus/,/^accelerator/p' >&2
  exit 1
fi
$build/bin/hone doctor | sed -n '/^gpus/p'

# Test programs have them by these variables.
venv=$(realpath "${HONE_VENV:-build/venv}")
major=$($build/bin/hone doctor --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["cuda_driver"].split(".")[0])')
for library in NVRTC=libnvrtc CUBLASLT=libcublasLt; do
  if [ -n "$(printenv "HONE_${library%%=*}")" ]; then continue; fi
  for file in "$venv"/lib/python3*/site-packages/nvidia/*/lib/"${library#*=}".so.*; do
    if [ -e "$file" ] && [ "${file##*.so.}" = "$major" ]; then export "HONE_${library%%=*}=$file"; fi
  done
done
# Without the library its products would be hone's own, and nothing of it tried.
if ! $build/bin/hone doctor --json | python3 -c 'import json, sys; sys.exit(not json.load(sys.stdin)["cublaslt"])'; then
  echo "check-cuda needs cuBLASLt for CUDA $major: make cuda, or set HONE_CUBLASLT" >&2
  exit 1
fi

echo "== kernels"
$build/bin/hone doctor --compile_kernels here >/dev/null
echo "== tests of the GPU"
HONE_TEST_DEVICES=cuda ctest --test-dir $build --output-on-failure --no-tests=error \
  -R '^(engine_backends_test|engine_session_test|learn_tasks_test|learn_train_test|learn_generate_test|operate_serve_test)$'
ctest --test-dir $build --output-on-failure --no-tests=error -R '^configs/cuda(_disk)?\.txt\.'

if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck synccheck; do
    echo "== compute-sanitizer, $tool"
    HONE_TEST_DEVICES=cuda compute-sanitizer --tool $tool --error-exitcode 1 --print-limit 20 \
      $build/bin/engine_backends_test --gtest_filter='Gpu.*'
  done
else
  echo "== compute-sanitizer is not installed: left out"
fi

if [ "${BENCH:-yes}" != no ]; then
  python=${PYTHON:-build/bench-venv/bin/python}
  if [ ! -x "$python" ]; then
    python3 -m venv build/bench-venv
    build/bench-venv/bin/pip install --quiet -r bench/requirements.txt
  fi
  echo "== times"
  "$python" bench/card.py --device cuda --write
  for each in train_step task_step; do
    "$python" bench/$each.py --device cuda --pairs "${PAIRS:-5}" --write
  done
fi
