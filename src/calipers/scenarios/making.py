"""Scenarios written in rounds: each round asks for what the grid still lacks, within a budget of calls.

Answers are recorded by the judge's store, so that the same command continues after an interruption.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from calipers.backends.connect import connect
from calipers.backends.limits.bounds import wrapped
from calipers.config.flat_names import judge_arguments
from calipers.config.grouped_options import Calls
from calipers.config.options import options_in_group
from calipers.errors import BackendError, ConfigError, InputError
from calipers.interfaces import Backend, FullBackend, Store
from calipers.judging.judge import Judge
from calipers.ledger import WritableLedger
from calipers.scenarios.alike import Known, problem_of
from calipers.scenarios.grid import Cell, Grid, Scenario
from calipers.scenarios.question import Written, inputs_question, read_inputs, read_topics, topics_question
from calipers.types import JudgeRequest, Tool

_PER_CALL: Final = 10
_TOPICS: Final = 8
_FRUITLESS: Final = 2
"""The number of rounds in a row without a new scenario after which writing stops."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is to be written: ``count`` scenarios over ``topics`` (eight that the writer names, if empty), with at
    most ``calls`` calls (None: three for every ten scenarios, and three more).

    ``params`` are further request parameters; ``max_tokens`` among them limits a reply.
    """

    count: int
    topics: tuple[str, ...] = ()
    calls: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def most_calls(self) -> int:
        """Return the largest number of calls that writing these scenarios may take."""
        return 3 * -(-self.count // _PER_CALL) + 3 if self.calls is None else self.calls


@dataclass(slots=True)
class Made:
    """Written scenarios with their grid: ``refused`` counts those that may not be used, by reason in fixed words.

    ``calls`` counts questions, answered
    from the ledger or not; ``problems`` are sentences about failed ones.
    """

    grid: Grid
    scenarios: list[Scenario] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    calls: int = 0

    def unused_tools(self, tools: Sequence[Tool]) -> list[str]:
        """Return the names of those ``tools`` that none of the scenarios needs."""
        used = {name for one in self.scenarios for name in one.tools}
        return [name for name in tool_names(tools) if name not in used]


async def write_scenarios(
    task: str, store: Store, backend: FullBackend, options: Options, *, tools: Sequence[Tool] = ()
) -> Made:
    """Have ``backend`` write scenarios for a task described in a sentence; answers are recorded in ``store``.

    The writer names sub-topics first, unless ``options`` have some. Then every round asks for the cells of the grid
    that lack scenarios, each topic in a question of its own, at most ten scenarios a question; near-duplicates and
    texts that address a judge are refused. It ends when the grid is full, the calls are used up, or two rounds in a row
    brought nothing. Raises ConfigError as ``require_request`` does, InputError if no sub-topics can be read.
    """
    require_request(task, options)
    writer = _Writer(task, store, backend, options, tuple(tools))
    topics = tuple(" ".join(one.split()) for one in options.topics) or await writer.topics()
    made = Made(Grid(tuple(topics[: options.count]), options.count), calls=writer.calls, problems=writer.problems)
    known, fruitless = Known(), 0
    while (missing := made.grid.missing(made.scenarios)) and fruitless < _FRUITLESS:
        wanted = _questions(missing)[: options.most_calls - writer.calls]
        if not wanted:
            break
        before = len(made.scenarios)
        for reply in await writer.inputs(wanted, tuple(made.scenarios)):
            _take(made, reply, known)
        fruitless = fruitless + 1 if len(made.scenarios) == before else 0
    made.calls = writer.calls
    return made


def require_request(task: str, options: Options) -> None:
    """Raise ConfigError unless scenarios can be written for this task with these ``options``."""
    if not task.strip():
        raise ConfigError("the task is empty: describe it in a sentence")
    if options.count < 1 or options.most_calls < 1:
        raise ConfigError("the number of scenarios and of calls must be at least 1")
    named = [" ".join(one.split()) for one in options.topics]
    if not all(named):
        raise ConfigError("a sub-topic (--topic) is empty: name it in a few words, or leave it out")
    folded = [one.casefold() for one in named]
    if twice := next((one for place, one in enumerate(named) if folded[place] in folded[:place]), None):
        raise ConfigError(f"the sub-topic {twice!r} (--topic) is there twice: leave one out")
    if len(named) > options.count:
        raise ConfigError(
            f"{options.count} scenarios (--count) are too few for {len(named)} sub-topics (--topic): "
            "each needs at least one"
        )


def _take(made: Made, written: Written, known: Known) -> None:
    """Add the scenarios of a reply that may be used and are still missing; count the others by reason."""
    made.refused.update(written.refused)
    for one in written.scenarios:
        if one.cell not in made.grid.missing(made.scenarios):
            made.refused["its cell has enough"] += 1
        elif (problem := problem_of(one.text, known)) is not None:
            made.refused[problem] += 1
        else:
            known.add(one.text)
            made.scenarios.append(one)


def _questions(missing: Mapping[Cell, int]) -> list[dict[Cell, int]]:
    """Return what each question asks for: cells of one topic, at most ten scenarios together."""
    by_topic: dict[str, dict[Cell, int]] = {}
    for cell, count in missing.items():
        by_topic.setdefault(cell.topic, {})[cell] = count
    found: list[dict[Cell, int]] = []
    for cells in by_topic.values():
        asked: dict[Cell, int] = {}
        for cell, count in cells.items():
            room = _PER_CALL - sum(asked.values())
            if room:
                asked[cell] = min(count, room)
        found.append(asked)
    return found


@dataclass(slots=True)
class _Writer:
    """The model that writes scenarios, what it is asked about, and its calls so far."""

    task: str
    store: Store
    backend: FullBackend
    options: Options
    tools: tuple[Tool, ...]
    calls: int = 0
    problems: list[str] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)

    async def topics(self) -> list[str]:
        """Return the sub-topics that the writer names. Raises InputError if there are none."""
        question = topics_question(self.task, self.tools, count=_TOPICS, params=self.options.params)
        reply = await self._asked(question)
        found = read_topics(reply or "")[:_TOPICS]
        if not found:
            why = self.problems[-1] if reply is None else "its reply names none"
            raise InputError(f"the writer named no sub-topics ({why}); give some with --topic")
        return found

    async def inputs(self, wanted: Sequence[dict[Cell, int]], earlier: Sequence[Scenario]) -> list[Written]:
        """Return what each question's reply holds; a failed call, and a reply that cannot be read, is a problem."""
        first = self.calls
        questions = [
            self._as_repeat(
                inputs_question(self.task, self.tools, cells, earlier, number=first + place, params=self.options.params)
            )
            for place, cells in enumerate(wanted)
        ]
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(self._asked(question)) for question in questions]
        names = tool_names(self.tools)
        found = []
        for task, cells in zip(running, wanted, strict=True):
            read = read_inputs(task.result() or "", next(iter(cells)).topic, names)
            if read is None and task.result() is not None:
                self.problems.append("a reply of the writer holds no list of inputs that can be read")
            found.append(read or Written())
        return found

    def _as_repeat(self, question: JudgeRequest) -> JudgeRequest:
        """Return a question with the number of times it was asked before: a ledger answers each time by itself."""
        text = str(question.messages)
        self.asked[text] += 1
        return replace(question, ask=replace(question.ask, sample=self.asked[text] - 1))

    async def _asked(self, question: JudgeRequest) -> str | None:
        self.calls += 1
        try:
            answer = await self.store.answer(await self.store.begin(), question, self.backend)
        except BackendError as error:
            self.problems.append(f"a question to the writer failed: {error}")
            return None
        if answer.finish_reason == "refused":
            self.problems.append("the writer refused a question")
            return None
        return answer.text


def tool_names(tools: Sequence[Tool]) -> list[str]:
    """Return the names of tool definitions in OpenAI's form; a provider's own tool has the name of its type."""
    named = (tool.get("function", tool) for tool in tools)
    return [str(one.get("name") or one.get("type")) for one in named if isinstance(one, Mapping)]


@dataclass(frozen=True, slots=True)
class Writer:
    """A connected writer of scenarios: its ``backend``, the ``store`` of its answers, and its request parameters."""

    backend: FullBackend
    store: Store
    params: Mapping[str, Any]


def connected_writer(
    model: str | Backend,
    *,
    ledger: WritableLedger | None = None,
    base_url: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Writer:
    """Return a writer of scenarios by a judge's name or a Backend, with the ``options`` of ``Judge.of`` for calls.

    Raises ConfigError for a model that cannot be reached and for options that do not apply.
    """
    chosen = {"judge": model, "base_url": base_url, "ledger": ledger, **(options or {})}
    calls: Calls = options_in_group("calls", judge_arguments(chosen).get("calls"))
    bare = connect(model, base_url=base_url, api_key=None, timeout=calls.timeout)
    backend = wrapped(bare, attempts=calls.attempts if isinstance(model, str) else None)
    limit = {} if calls.max_tokens is None else {"max_tokens": calls.max_tokens}
    return Writer(backend, Judge.of(chosen).store, {**limit, **(calls.params or {})})
