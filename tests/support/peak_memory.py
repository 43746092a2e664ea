#!/usr/bin/env python3
"""Runs a command and says whether its peak resident memory, as the system counts it, stays within a limit.

    peak_memory.py MIB COMMAND...     prints "within MIB MiB", or the peak; the command's output goes to peak.log
"""
import resource
import subprocess
import sys

limit = int(sys.argv[1])
with open("peak.log", "w") as log:
    status = subprocess.run(sys.argv[2:], stdout=log, stderr=log, check=False).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"within {limit} MiB" if peak <= limit else f"{peak:.0f} MiB")
sys.exit(status)
