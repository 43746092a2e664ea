#!/usr/bin/env bash
# tools/sanitize.sh asan|ubsan|tsan [--some | --ranks | PROGRAM ...]   builds the unit tests in build/<preset> and
# runs them all but the slow ones; --some: those of rooms with SANITIZE, not optimized, and without the
# checks that take a quarter of the compiler's time and that the processor or the address sanitizer makes
# too; programs name some of them.
# --ranks: builds hone instead, and trains with 2 and 3 ranks that are processes, of which some are killed.
# HONE_UNITY=OFF compiles each file by itself, which takes twice as long and finds missing includes.
# hone turns its own mistakes into bugs, so leaks and races are the point here.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-asan}
shift || true
jobs=${JOBS:-$(nproc)}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:suppressions=$PWD/tools/tsan.supp}
without= optimize=-O1
[ "${1:-}" != --some ] || without=null,vptr,alignment,object-size optimize=-O0
mkdir -p build
cmake --preset "$preset" -DHONE_UNITY="${HONE_UNITY:-ON}" -DHONE_SANITIZE_NOT="$without" \
  -DCMAKE_CXX_FLAGS_SANITIZED="$optimize -g1" >"build/configure-$preset.log" || { cat "build/configure-$preset.log"; exit 1; }
chosen=(--test-dir "build/$preset" -L 'unit|fuzz' -LE 'slow|nightly')
programs=(all_tests)
if [ "${1:-}" = --some ]; then
  chosen+=(-L '^sanitize$')
  programs=(sanitized_tests)
elif [ $# -gt 0 ]; then
  chosen+=(-R "^($(IFS='|'; echo "$*"))(\.[0-9]+)?$")
  programs=("$@")
fi
if [ "${1:-}" = --ranks ]; then
  nice ninja -C "build/$preset" -j "$jobs" hone
  export HONE_TIMES_SLOWER=20
  python3 tests/faults/ranks.py --hone "build/$preset/bin/hone" rule_17_losses_do_not_depend_on_the_world rule_16_the_model_folder
  exec python3 tests/faults/elastic.py --hone "build/$preset/bin/hone" --kills 3 rule_8_random_kills nothing_is_lost
fi
nice ninja -C "build/$preset" -j "$jobs" "${programs[@]}"
tools/in_memory.sh ctest "${chosen[@]}" --output-on-failure -j $((jobs + 1)) --no-tests=error --output-junit tests.xml --test-output-size-passed 20000
