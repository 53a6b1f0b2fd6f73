"""Reads options from text: from a flag, an environment variable or calipers.toml.

A text that cannot be read raises a ConfigError that names the flag and shows how to write it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.inputs.rubrics import SUFFIXES, read_rubric
from calipers.types import Rubric


def read_rubric_file(path: str, *, flag: str = "--rubric") -> str | Rubric:
    """Read a judge's option ``rubric`` from a file: criteria if its name ends in .toml, .json or .yaml, else text.

    ``flag`` named the file.

    Raises ConfigError.
    """
    if path.endswith(SUFFIXES):
        return read_rubric(path)
    if not path:
        raise ConfigError(f"{flag}: the name of the file is empty; leave {flag} out for the default rubric")
    try:
        text = Path(path).read_text(encoding="utf-8-sig").strip()
    except (OSError, ValueError) as error:
        why = (
            "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", str(error))
        )
        raise ConfigError(f"{flag} {path}: cannot be read ({why}); name a text file with the standards") from error
    if not text:
        raise ConfigError(f"{flag} {path}: the file is empty; leave {flag} out for the default rubric")
    if path.endswith(".jsonl"):
        raise ConfigError(
            f"{flag} {path}: its lines are JSON; name a text file with the standards, or criteria in TOML"
        )
    return text


def names_rubric_file(text: str) -> bool:
    """Return whether a judge's option ``rubric`` is the name of a file, as calipers.toml has it, and not standards."""
    return len(text.split()) == 1 and text.endswith((".txt", ".md", *SUFFIXES))


def read_pairs(texts: Sequence[str], *, flag: str, example: str) -> dict[str, Any]:
    """Read a judge's option from ``KEY=VALUE`` texts of ``flag`` into a mapping; a value that is JSON is decoded."""
    pairs: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigError(f"{flag} {text}: write KEY=VALUE, as in {example}")
        try:
            pairs[key] = json.loads(value)
        except (ValueError, RecursionError) as error:  # also a number of too many digits, or too deep
            if re.match(r"\s*[{[](?![{%#])", value):  # a chat template is text
                remedy = "in JSON, write true, false, null and double quotes"
                raise ConfigError(f"{flag} {key}: the value is not JSON ({error}): {remedy}") from error
            pairs[key] = value
    return pairs


read_params: Final = partial(read_pairs, flag="--param", example="temperature=0")
read_gradings: Final = partial(read_pairs, flag="--grading", example="mode=relative")


def read_headers(texts: Sequence[str]) -> dict[str, str]:
    """Read a judge's option of request headers, which ``--header`` gives."""
    headers = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"(?a)[\w.!#$%&'*+^`|~-]+", name.strip()):
            raise ConfigError("--header: write NAME=VALUE, as in X-Team=search")
        headers[name.strip()] = value.strip()
    return headers


def read_budget(texts: Sequence[str]) -> dict[str, float]:
    """Read the judge's option ``--budget``, given as ``KIND=AMOUNT``, such as ``usd=5``."""
    budget = {}
    for text in texts:
        kind, _, amount = text.partition("=")
        if kind not in _BUDGETS:
            raise ConfigError(
                f"--budget {text}: {kind!r} is no kind of budget: write usd=5 (US dollars), tokens=2e6 or calls=1000"
            )
        try:
            budget[kind] = float(amount)
        except ValueError:
            raise ConfigError(f"--budget {text}: write {kind}= and a number, as in {_BUDGETS[kind]}") from None
        if kind != "usd" and not budget[kind].is_integer():
            raise ConfigError(f"--budget {text}: {kind} must be a whole number, as in {_BUDGETS[kind]}")
    return budget


_BUDGETS: Final = {"usd": "usd=5", "tokens": "tokens=2e6", "calls": "calls=1000"}


def read_price(text: str) -> tuple[float, ...]:
    """Read the judge's option ``--price``: ``INPUT,OUTPUT[,CACHED]`` in US dollars per million tokens."""
    problem = f"--price {text}: write IN,OUT or IN,OUT,CACHED in US dollars per million tokens, as in 0.25,2"
    numbers = _numbers(text, problem)
    if len(numbers) not in {2, 3}:
        raise ConfigError(problem)
    return numbers


def read_weights(text: str) -> tuple[float, ...]:
    """Read the judge's option ``--weights``: one number for each judge, such as ``2,1,1``."""
    return _numbers(text, f"--weights {text}: write one number for each judge, as in 2,1,1")


def _numbers(text: str, problem: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(problem) from None
