#!/usr/bin/env bash
# tools/fuzz.sh [SECONDS] [NAME...]   builds the libFuzzer targets with clang and runs each for
# SECONDS (60) over its corpus tests/fuzz/<name>. A find stays in build/fuzz/finds/<name>; give it
# a telling name in tests/fuzz/<name>, where every ordinary build replays it.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
tools/setup.sh sanitize
mkdir -p build
cmake --preset fuzz >build/configure-fuzz.log || { cat build/configure-fuzz.log; exit 1; }
nice ninja -C build/fuzz
for program in build/fuzz/bin/*_fuzz; do
  name=$(basename "$program")
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  mkdir -p "build/fuzz/corpus/$name" "build/fuzz/finds/$name"
  corpora=("build/fuzz/corpus/$name")
  if [ -d "tests/fuzz/$name" ]; then corpora+=("tests/fuzz/$name"); fi
  echo "$name: $seconds s"
  "$program" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -print_final_stats=0 \
    -verbosity=0 -artifact_prefix="build/fuzz/finds/$name/" "${corpora[@]}"
done
