#!/usr/bin/env python3
"""Prints how many bytes of an object were asked for at the server of tools/fake_buckets.py, in KiB, since
the last call: bytes_read.py PART_OF_ITS_PATH"""
import json
import os
import re
import sys
import urllib.request

with urllib.request.urlopen(os.environ["STORAGE_EMULATOR_HOST"] + "/_log?clear=1") as answer:
    log = json.load(answer)
total = 0
for request in log:
    part = re.fullmatch(r"bytes=(\d+)-(\d+)", request["range"] or "")
    if request["method"] == "GET" and sys.argv[1] in request["path"] and part:
        total += int(part[2]) - int(part[1]) + 1
print(total >> 10)
