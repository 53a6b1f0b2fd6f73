"""``score_group`` and ``score_groups``, which reuse one Judge for each judge name."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from inspect import signature

from calipers.backends.names import split_judge_name
from calipers.backends.providers.known import RequestTarget, provider_of, request_target
from calipers.config.flat_names import unknown_argument
from calipers.config.option import nearest_name
from calipers.errors import ConfigError, InputError
from calipers.interfaces import Backend
from calipers.judging.instances import judges_in
from calipers.judging.judge import Judge, has_recorded_answers
from calipers.types import GroupResult, Rubric
from calipers.types.encoding import as_sentence


async def score_group(
    group: object,
    judge: str | Backend | Sequence[str | Backend] | Judge,
    *,
    rubric: str | None = None,
    **options: object,
) -> GroupResult:
    """Judge the trajectories of one group against one another.

    ``group`` is a TrajectoryGroup, an object of the groups file, a list of message lists, or a trainer's own group.
    ``judge`` is a name such as ``"openai/gpt-5-mini"``, a Backend, or several of these (a panel). ``rubric`` is text,
    for groups that bring none. To set other options, pass a Judge.

    Never raises because of a judge: each trajectory of the result is ``scored``, ``abstained`` or ``failed``, with a
    reason, and has a reward in [0, 1] or None. Raises ConfigError for options that cannot work and InputError for a
    group that cannot be read, both before any token is spent.
    """
    require_none(options, score_group)
    return await _as_judge(judge, rubric).score_group(group)


def score_groups(
    groups: Iterable[object] | AsyncIterable[object],
    judge: str | Backend | Sequence[str | Backend] | Judge,
    *,
    rubric: str | None = None,
    concurrency: int = 64,
    ordered: bool = False,
    on_error: Callable[[InputError], None] | None = None,
    **options: object,
) -> AsyncIterator[GroupResult]:
    """Judge many groups, ``concurrency`` at a time, and yield results as they finish (``ordered``: in input order).

    ``groups`` may be any iterable, also an endless or asynchronous one; memory use does not grow. A group that cannot
    be read is passed to ``on_error`` and skipped; without ``on_error``, its InputError is raised. The other arguments
    are those of ``score_group``.
    """
    require_none(options, score_groups)
    return _as_judge(judge, rubric, concurrency).score_groups(
        groups, concurrency=concurrency, ordered=ordered, on_error=on_error
    )


def _as_judge(
    judge: str | Backend | Sequence[str | Backend] | Judge, rubric: str | None, concurrency: int = 64
) -> Judge:
    if isinstance(judge, Judge):
        if rubric is not None:
            raise ConfigError("rubric= is not used with a Judge: give the Judge its own, Judge(..., rubric=...)")
        return judge
    if isinstance(rubric, Rubric | Mapping | list | tuple):
        raise ConfigError('rubric= is text here: for criteria use Judge(..., protocol="checklist", rubric=...)')
    names = judges_in(judge)
    named = tuple(name for name in names if isinstance(name, str))
    if len(named) < len(names):
        return Judge(judge, rubric=rubric, concurrency=concurrency)
    return _shared_judge(named, rubric, tuple(_address_and_key(name) for name in named), concurrency)


def require_none(options: Mapping[str, object], function: Callable[..., object]) -> None:
    """Raise ConfigError for an argument that a caller gave a ``function`` without it: where it belongs."""
    owner, has, known = f"{function.__name__}()", signature(function).parameters, signature(Judge).parameters
    for name in options:
        if function is score_group and name in {"concurrency", "ordered", "on_error"}:
            raise ConfigError(f"{owner} has no argument {name!r}: score_groups(groups, judge) has it")
        if (near := nearest_name(name, has.keys() | known.keys())) in has:
            raise ConfigError(f"{owner} has no argument {name!r}. Did you mean {near}?")
        raise ConfigError(unknown_argument(name, known, owner=owner, place="pass judge=Judge(..., {})"))


def _address_and_key(name: str) -> RequestTarget | None:
    """Return the judge's address and key, as the environment sets them now; None for an unknown provider."""
    bare, url = split_judge_name(name)
    provider = provider_of(bare)
    try:
        return None if provider is None else request_target(provider, base_url=url)
    except ConfigError:
        return None  # building the Judge raises the same error


@lru_cache(maxsize=32)
def _shared_judge(
    names: tuple[str, ...],
    rubric: str | None,
    asked: tuple[RequestTarget | None, ...],  # noqa: ARG001 - another environment is another judge
    concurrency: int,
) -> Judge:
    """Return a Judge shared by all calls with these arguments, so that connections and limits are shared as well."""
    return Judge(names, rubric=rubric, concurrency=concurrency)


async def check_or_continue(judge: Judge) -> Sequence[str]:
    """Check a ``judge`` before a run as ``Judge.check`` does, and return its warnings.

    If that fails and the ledger has answers of the judge, the error is a warning. Raises ConfigError otherwise.
    """
    try:
        return await judge.check()
    except ConfigError as error:
        if not has_recorded_answers(judge):
            raise
        return [f"{as_sentence(str(error))} Continuing with the answers in the ledger."]
