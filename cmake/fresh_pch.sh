#!/bin/sh
# fresh_pch.sh COMMAND...   removes the precompiled header that COMMAND is about to make, then runs it.
# ccache preprocesses a file to find its key, and the compiler then reads an old precompiled header
# instead of the headers themselves: headers that changed would not change the key.
before=
for word; do
  case "$before $word" in
    "-o "*.gch | "-o "*.pch) rm -f "$word" ;;
  esac
  before=$word
done
exec "$@"
