"""Write metrics in Prometheus' text format, version 0.0.4."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_:]")


def exposition(metrics: Mapping[str, float]) -> str:
    """Return a Prometheus gauge for each finite metric: ``judge/groups`` -> ``calipers_judge_groups``."""
    lines: list[str] = []
    for key in sorted(metrics):
        if math.isfinite(metrics[key]):
            name = f"calipers_{_name(key)}"
            lines += [f"# TYPE {name} gauge", f"{name} {metrics[key]!r}"]
    return "".join(f"{line}\n" for line in lines)


def _name(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", text)
