"""Make a Judge from an adapter's ``judge`` argument, once a process.

Engines copy an adapter's arguments to worker processes. A Judge holds connections and locks, which cannot be copied; a
judge's name and a function of a module can. Not responsible for judging, or for RULER's arguments (``art.judge``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.trainers.process.once import once_per_process

JudgeLike: TypeAlias = "str | Backend | Sequence[str | Backend] | Judge | Callable[[], Judge]"
"""A judge's name, a Backend, several of these (a panel), a Judge, or a function without arguments that returns a
Judge.
"""


def as_judge(source: JudgeLike) -> Judge:
    """Return the Judge for the ``judge`` argument of a trainer's adapter.

    In a process, the same ``source`` always gives the same Judge.

    Raises ConfigError for anything that is not JudgeLike, and for a judge that cannot work.
    """
    if isinstance(source, Judge):
        return source
    source = tuple(source) if isinstance(source, list) else source
    try:
        hash(source)
    except TypeError:
        return build_judge(source)
    return _judge_of(source)


def build_judge(source: JudgeLike) -> Judge:
    """Return a new Judge for the ``judge`` argument of a trainer's adapter, or ``source`` itself if it is a Judge."""
    if isinstance(source, str | list | tuple) or callable(getattr(source, "complete", None)):
        return Judge(cast("str | Backend | Sequence[str | Backend]", source))
    made = source() if callable(source) else source
    if isinstance(made, Judge):
        return made
    name = getattr(source, "__qualname__", type(source).__name__)
    raise ConfigError(
        f"judge: {f'{name}() returned a' if callable(source) else 'it is a'} {type(made).__name__}; give a judge's "
        "name such as 'openai/gpt-5-mini', a Backend, a calipers.Judge, or a function without arguments that returns "
        "a Judge"
    )


@once_per_process(maxsize=32)
def _judge_of(source: JudgeLike) -> Judge:
    return build_judge(source)
