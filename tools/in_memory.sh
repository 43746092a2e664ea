#!/usr/bin/env bash
# tools/in_memory.sh COMMAND...   runs the command with TMPDIR in /dev/shm, and removes it afterwards.
# Tests write and flush thousands of small files, and a disk makes them wait half of their time. Leaves
# TMPDIR as it is where it is set, or /dev/shm has less than 4 GiB free or starts no programs.
set -euo pipefail
least=$((4 << 20)) # KiB
free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1) || free=0
[ -z "${TMPDIR:-}" ] && [ "${free:-0}" -ge $least ] || exec "$@"
folder=$(mktemp -d /dev/shm/hone_tests_XXXXXX)
chmod 711 "$folder" # a database's user has a folder in it
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\n' >"$folder/program" && chmod +x "$folder/program"
"$folder/program" 2>/dev/null && export TMPDIR=$folder
rm "$folder/program"
"$@"
