"""What earlier versions made of many inputs, on file: recorded answers must replay with equal rewards and statuses.

``GOLDEN=write python -m pytest FILE`` writes the file anew where a change is meant; its diff says what changed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "fixtures" / "golden"


def check(name: str, found: Mapping[str, Any]) -> None:
    """Compare ``found``, plain JSON by input, with what is on file; inputs that came since then are left to their own
    tests.
    """
    path = FOLDER / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    known = dict(line.split(" ", 1) for line in lines)
    now = {text: shortened(json.dumps(value, ensure_ascii=False)) for text, value in found.items()}
    if os.environ.get("GOLDEN") == "write":
        known |= {_key(text): value for text, value in now.items()}
        FOLDER.mkdir(exist_ok=True)
        path.write_text("".join(f"{key} {value}\n" for key, value in sorted(known.items())), encoding="utf-8")
        return
    recorded = {text: known[_key(text)] for text in found if _key(text) in known}
    assert len(recorded) * 2 > len(found), f"of {len(found)} inputs {len(recorded)} are on file in {path.name}"
    differ = [f"{text!r}\n  was {was}\n  is  {now[text]}" for text, was in recorded.items() if was != now[text]]
    assert not differ, f"{len(differ)} of {len(recorded)} differ:\n" + "\n".join(differ[:5])


def shortened(value: str) -> str:
    """A long value by its beginning and a hash, so that the files stay small."""
    return value if len(value) <= 72 else f"{value[:48]} ... {_key(value)}"


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
