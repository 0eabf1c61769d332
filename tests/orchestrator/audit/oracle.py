"""Checks an audit export without Kraftgate: `kraftgate audit export | python oracle.py`."""

import hashlib
import json
import sys

previous = "sha256:" + "0" * 64
count = 0
for line in sys.stdin:
    entry = json.loads(line)
    claimed = entry.pop("hash")
    count += 1
    text = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    computed = "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()
    if computed != claimed or entry["previous"] != previous or entry["sequence"] != count:
        sys.exit(f"broken at line {count}")
    previous = claimed
sys.stdout.write(f"{count} {previous}\n")
