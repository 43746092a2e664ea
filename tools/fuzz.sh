#!/usr/bin/env bash
# tools/fuzz.sh [SECONDS] [PROGRAM...]   builds the libFuzzer targets with clang and runs each for
# SECONDS (60) over its corpus, one on each core. A find stays in build/fuzz/finds/PROGRAM; give it
# a telling name in the corpus (tests/fuzz/, the second word of the target's line in
# build/fuzz/fuzzers.txt), where every ordinary build replays it.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
tools/setup.sh sanitize
mkdir -p build
cmake --preset fuzz >build/configure-fuzz.log || { cat build/configure-fuzz.log; exit 1; }
mapfile -t programs < <(cut -d' ' -f1 build/fuzz/fuzzers.txt)
[ $# -eq 0 ] || programs=("$@")
nice ninja -C build/fuzz "${programs[@]}"

fuzz() {  # seconds, program, corpus
  local at=build/fuzz corpora=("build/fuzz/corpus/$2")
  mkdir -p "$at/corpus/$2" "$at/finds/$2" "$at/logs"
  if [ -d "tests/fuzz/$3" ]; then corpora+=("tests/fuzz/$3"); fi
  if "$at/bin/$2" -max_total_time="$1" -rss_limit_mb=2048 -timeout=20 -print_final_stats=1 \
    -verbosity=1 -artifact_prefix="$at/finds/$2/" "${corpora[@]}" >"$at/logs/$2.log" 2>&1; then
    echo "$2: $(sed -n 's/^stat::number_of_executed_units: *//p' "$at/logs/$2.log") inputs in $1 s, no find"
  else
    echo "$2: a find, see $at/finds/$2 and"
    tail -n 40 "$at/logs/$2.log"
    return 1
  fi
}
export -f fuzz

while read -r program corpus; do
  if [ $# -gt 0 ] && [[ " $* " != *" $program "* ]]; then continue; fi
  echo "$seconds $program $corpus"
done <build/fuzz/fuzzers.txt |
  xargs -P "${JOBS:-$(nproc)}" -L 1 bash -c 'fuzz "$@"' _
