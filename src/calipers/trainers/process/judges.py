"""From what a user gives an adapter as judge to a Judge, built once a process.

Engines copy what they are given to worker processes. A Judge holds connections and locks, which do not travel; a judge's
name and a module's function do. Not responsible for judging, or for RULER's arguments (``art_judge``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.trainers.process.once import once_per_process

JudgeLike: TypeAlias = "str | Sequence[str] | Judge | Callable[[], Judge]"
"""A judge's name, several of them (a panel), a Judge, or a function without arguments that makes one."""


def as_judge(given: JudgeLike) -> Judge:
    """The Judge that ``given`` names, is or makes: the same one for the same name or function, in every call of a process.

    Raises ConfigError for anything else, and for what cannot be a judge.
    """
    if isinstance(given, Judge):
        return given
    if isinstance(given, str) or callable(given):
        return _built(given)
    if isinstance(given, Sequence) and given and all(isinstance(one, str) for one in given):
        return _built(tuple(given))
    raise ConfigError(
        f"judge is a {type(given).__name__}: give a judge name such as 'openai/gpt-5-mini', a calipers.Judge, or a "
        "function without arguments that returns one"
    )


@once_per_process(maxsize=32)
def _built(given: str | tuple[str, ...] | Callable[[], Judge]) -> Judge:
    if isinstance(given, str | tuple):
        return Judge(given)
    made = given()
    if not isinstance(made, Judge):
        name = getattr(given, "__qualname__", type(given).__name__)
        raise ConfigError(f"judge: {name}() returned a {type(made).__name__}, and it must return a calipers.Judge")
    return made
