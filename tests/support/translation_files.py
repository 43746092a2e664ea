"""translation_files.py ROWS STEM   the two sides of rows {"translation": {"en": ..., "ro": ...}} as STEM.en, STEM.ro."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    rows = [json.loads(line)["translation"] for line in f]
for language in ("en", "ro"):
    with open(f"{sys.argv[2]}.{language}", "w", encoding="utf-8") as f:
        f.writelines(row[language] + "\n" for row in rows)
