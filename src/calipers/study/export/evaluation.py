"""How trained policies are compared on a cluster: settings for ``calipers score``, the same for every run.

Pure. Not responsible for the table that is made of the scores (``results``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from calipers.study.export.layout import Server

GRADING: Final = {"protocol": "checklist", "grading": {"normaliser": "healthbench", "reward": "score"}}
"""How responses are graded: points of criteria that are met over all positive points, not clipped."""

_REACHED_BY: Final = (
    "base_url", "concurrency", "context_window", "max_tokens", "params", "requests_per_minute", "timeout",
    "tokens_per_minute",
)  # fmt: skip
"""A judge's options that say how it is reached. The others say how an arm asks it, and are the arm's own."""


def evaluator_options(model: str, options: Mapping[str, Any], server: Server | None) -> dict[str, Any]:
    """Return the options, by flat names, of the judge that grades all trained policies."""
    reached = {name: options[name] for name in _REACHED_BY if name in options}
    if server is not None:
        reached["base_url"] = server.urls
    return {"judge": model, **reached, **GRADING}


def score_settings(options: Mapping[str, Any]) -> str:
    """Return the text of a ``calipers.toml`` that gives the command ``calipers score`` a judge's ``options``."""
    lines = [f"{_flag(name)} = {json.dumps(_flag_value(name, value))}\n" for name, value in options.items()]
    return "[score]\n" + "".join(lines)


def _flag(name: str) -> str:
    return {"params": "param"}.get(name, name.replace("_", "-"))


def _flag_value(name: str, value: Any) -> Any:
    if name in ("params", "grading"):
        return [f"{key}={one if isinstance(one, str) else json.dumps(one)}" for key, one in value.items()]
    return value
