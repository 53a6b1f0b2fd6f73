"""Text for people: a judge's answer (for ``debug``), a ranked group, and the ``repr`` of a Judge without secrets."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Final

from calipers.backends.names import name_without_password, split_judge_name, url_without_password
from calipers.config.option import Options
from calipers.config.options import JudgeOptions
from calipers.types import Completion, GroupResult, JudgeRequest, Reading
from calipers.types.encoding import printable

_WIDTH: Final = 110
_LONGEST: Final = 60
_MOST: Final = 6
"""The most characters of a text, and items of a list, that a ``repr`` shows."""


def terminal_width() -> int | None:
    """Return the columns of stderr's terminal, for text such as answers printed while judging; None for no terminal."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or None
    except (AttributeError, OSError, ValueError):  # no file descriptor, or one that is no terminal
        return None


def print_answer(request: JudgeRequest, completion: Completion, reading: Reading) -> None:
    """Print an answer to stderr while judging (``debug``): question, the judge's reasoning, reply, and scores read."""
    sys.stderr.write(describe_answer(request, completion, reading, width=terminal_width()))


def describe_answer(
    request: JudgeRequest, completion: Completion, reading: Reading, *, width: int | None = None
) -> str:
    """Describe an answer received while judging, as indented plain text, with ids in place of opaque candidate keys.

    Text is wrapped at ``width`` columns, as in ``describe_result``.
    """
    ask, view = request.ask, request.view
    shown = [view.ids[members[0]] if (members := view.candidates[item].members) else "(canary)" for item in ask.order]
    names = ", ".join(f"{key}={trajectory}" for key, trajectory in zip(request.keys, shown, strict=True))
    lines = [f"[calipers] group {view.group_id}, question {ask.number} ({ask.cause}), shown as {names}"]
    if completion.reasoning:
        lines += ["  the judge's reasoning:", _block(completion.reasoning, width=width)]
    lines += ["  the judge's reply:", _block(completion.text or "(empty)", width=width)]
    lines.append(f"  read as: {reading.outcome}")
    if reading.reason:
        lines.append(f"  because: {reading.reason}")
    for item, why in reading.missing.items():
        lines.append(f"  no score for {view.ids[view.candidates[item].members[0]]}: {why}")
    return printable("\n".join(lines)) + "\n"


def describe_result(result: GroupResult, *, width: int | None = None) -> str:
    """Describe the result of judging a group as plain text: best first, then trajectories without a score and why.

    Explanations are wrapped at ``width`` columns, or at 110 if ``width`` is None or larger.
    """
    ranked = sorted(result.trajectories, key=lambda one: (one.reward is None, -(one.reward or 0.0)))
    lines = [f"group {result.group_id}: {result.status}"]
    for place, one in enumerate(ranked, 1):
        reward = "    -" if one.reward is None else f"{one.reward:5.2f}"
        error = "" if one.stderr is None else f" ± {one.stderr:.2f}"
        lines.append(f"  {place if one.reward is not None else '-':>2}. {reward}{error}  {one.id}")
        text = one.explanation if one.reward is not None else f"{one.status}: {one.reason}"
        if text:
            lines.append(_block(text, indent=14, width=width))
    lines += [f"  note: {warning}" for warning in result.warnings]
    return printable("\n".join(lines)) + "\n"


def _block(text: str, *, indent: int = 4, width: int | None) -> str:
    pad = " " * indent
    wide = max(min(width or _WIDTH, _WIDTH), indent + 20)
    return "\n".join(
        textwrap.fill(line, wide, initial_indent=pad, subsequent_indent=pad) for line in text.splitlines() or [""]
    )


def shown_options(options: JudgeOptions) -> Iterator[str]:
    """Yield the judge, and each option that differs from its default, for a Judge's ``repr``: no keys, no passwords."""
    yield _shown(options.judge)
    for one in fields(options):
        value = getattr(options, one.name)
        if one.name not in ("judge", "api_key") and value != one.default:
            text = _shown(value)
            if text != "{}":  # a group of options that are all at their defaults
                yield f"{one.name}={text}"


def _shown(value: object) -> str:
    """Return an option's value as text: shortened, and without what may be a secret."""
    match value:
        case Options():
            changed = ((one.name, getattr(value, one.name), one.default) for one in fields(value))  # type: ignore[arg-type]
            return f"{{{', '.join(f'{name!r}: {_shown(one)}' for name, one, default in changed if one != default)}}}"
        case str() | Path():
            text = repr(_without_secrets(str(value)))
            return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        case int() | float() | None:
            return str(value)
        case Mapping():
            return f"{{{', '.join(f'{_shown(key)}: ...' for key in value)}}}"
        case Sequence():
            more = [f"... {len(value) - _MOST} more"] if len(value) > _MOST else []
            return f"[{', '.join([*map(_shown, value[:_MOST]), *more])}]"
        case _:
            return getattr(value, "__name__", None) or f"{type(value).__name__}(...)"


def _without_secrets(text: str) -> str:
    if "://" not in text:
        return text
    text = name_without_password(text) if split_judge_name(text)[1] else url_without_password(text)
    address, query, _ = text.partition("?")
    return address + ("?..." if query else "")
