#!/usr/bin/env python3
# nightly: --moments 500
"""kill_resume.py with the output folder in a bucket."""
import sys

import kill_resume

if __name__ == "__main__":
    sys.argv.append("--bucket")
    sys.exit(kill_resume.main())
