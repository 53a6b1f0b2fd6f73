"""The tools with which a judge reads what candidates left behind, and the turns of a question to a judge with tools.

Tools are read-only, over texts in memory, and return the same result for the same call. So every turn is recorded and
replayed like a question, and the recorded answers lead through the same turns again. A policy under training wrote the
artifacts, so what is returned is escaped like a transcript and bounded, and a program that the judge writes runs in the
sandbox.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff
from itertools import islice
from typing import Any, Final

from calipers.protocols.tools import TASK, TURNS, with_results, with_tools
from calipers.render.escapes import escape
from calipers.types import (
    NO_FAILED_CALLS,
    Answered,
    Ask,
    Completion,
    Failure,
    JudgeRequest,
    Reading,
    ToolCall,
    said_and_calls,
)
from calipers.verifiers.sandbox import Job, shared_sandbox

MOST_RESULT: Final = 16_384
"""The most bytes that one call of a tool returns."""
_MOST_ARGUMENTS = 20_000
_MOST_LINE = 2_000
_MOST_LISTED = 200
_LEAST_LISTED = 20
"""How many files ``list_files`` lists: of all attempts together, and at least of each."""
_MOST_COMPARED = 2_000
"""The most lines of a file that ``diff`` compares, because the time grows with the square of their number."""

_PROGRAM: Final = "import json, sys\nfiles = json.load(sys.stdin)\ndel json, sys\n"
_MOST_CALLS: Final = 16
"""The most calls of one turn that are answered; further ones are left out of the conversation."""
_NUMBERS: Final = 10_000_000
"""How far apart the numbers of a question's turns are in the ledger, more than a group has questions."""
_LAST: Final = "\n(There are no more turns with tools: answer now, without a call.)"


class ToolError(Exception):
    """Raised for a call of a tool that cannot be answered. The judge gets the message as the result."""


class Toolbox:
    """The tools of a judge for one question, over the artifacts of the candidates that ``request`` shows.

    Candidates are named by the keys of the question. ``names`` are the tools that the judge has.
    """

    def __init__(self, request: JudgeRequest, names: Sequence[str]) -> None:
        view = request.view
        self._files: dict[str, Mapping[str, str]] = {}
        for key, item in zip(request.keys, request.ask.order, strict=True):
            members = view.candidates[item].members  # a decoy answer has none, and no artifacts
            self._files[key] = view.artifacts[members[0]] if members else {}
        if view.task_artifacts:
            self._files[TASK] = view.task_artifacts
        every: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
            "list_files": self._list_files,
            "read_file": self._read_file,
            "diff": self._diff,
            "python": self._python,
        }
        self._tools = {name: every[name] for name in names}

    def run(self, call: ToolCall, most: int = MOST_RESULT) -> str:
        """Return what the judge's ``call`` of a tool returns, escaped, in at most ``most`` bytes of UTF-8.

        The text begins with "error: " if the call cannot be answered. May take a second, so it runs in a thread. Raises
        ConfigError if this system has no sandbox for programs.
        """
        tool = self._tools.get(call.name)
        try:
            text = f"error: there is no tool {call.name[:100]!r}; the tools are {', '.join(self._tools)}"
            text = text if tool is None else tool(_arguments(call))
        except ToolError as error:
            text = f"error: {error}"
        return bounded(escape(text), most)

    def _list_files(self, given: Mapping[str, Any]) -> str:
        named = None if given.get("attempt") is None else _text(given, "attempt")
        listed = self._files if named is None else {named: self._files_of(named)}
        share = max(_LEAST_LISTED, _MOST_LISTED // max(1, len(listed)))
        lines = []
        for name, files in listed.items():
            lines.append(f"{name}:" if files else f"{name}: no files")
            for path, text in islice(files.items(), share):
                lines.append(f"  {_line(path)} ({len(_lines(text))} lines, {len(text)} characters)")
            if len(files) > share:
                lines.append(f"... only the first {share} of {len(files)} files are listed")
        return "\n".join(lines)

    def _read_file(self, given: Mapping[str, Any]) -> str:
        name, path = _text(given, "attempt"), _text(given, "path")
        text = self._file(name, path)
        if text is None:
            raise ToolError(f"{name} has no file {path[:200]!r}")
        first, count = _number(given, "first_line", 1), _number(given, "lines", 200)
        lines = _lines(text)
        if first > len(lines) > 0:
            raise ToolError(f"{_line(path)} has {len(lines)} lines")
        shown = [_line(line) for line in lines[first - 1 : first - 1 + count]]
        where = f"lines {first} to {first + len(shown) - 1} of {len(lines)}" if shown else "an empty file"
        return "\n".join([f"{name}, {_line(path)}, {where}:", *shown])

    def _diff(self, given: Mapping[str, Any]) -> str:
        name = _text(given, "attempt")
        base = _text(given, "other") if given.get("other") is not None else TASK
        path = _text(given, "path")
        before, after = self._file(base, path), self._file(name, path)
        if before is None or after is None:
            missing = [side for side, text in ((base, before), (name, after)) if text is None]
            raise ToolError(f"{' and '.join(missing)} {'has' if len(missing) == 1 else 'have'} no file {path[:200]!r}")
        old, new = before.split("\n"), after.split("\n")
        if max(len(old), len(new)) > _MOST_COMPARED:
            raise ToolError(f"a file has more than {_MOST_COMPARED} lines, too many to compare; read_file shows parts")
        lines = [_line(line) for line in unified_diff(old, new, f"{base}/{path}", f"{name}/{path}", lineterm="")]
        return "\n".join(lines) if before != after else "the files are equal"

    def _python(self, given: Mapping[str, Any]) -> str:
        files = json.dumps({name: dict(contents) for name, contents in self._files.items()})
        outcome = shared_sandbox().run([Job(_PROGRAM + _text(given, "code"), stdin=files)])[0]
        if outcome.failure is not None:
            raise ToolError(f"the program failed: {outcome.reason}")
        return outcome.output or "the program printed nothing"

    def _file(self, name: str, path: str) -> str | None:
        """Return a file's text; None if the attempt has no such file. A path may be as results show it, escaped."""
        files = self._files_of(name)
        shown = next((file for file in files if escape(_line(file)) == path), path)
        return files.get(path, files.get(shown))

    def _files_of(self, name: str) -> Mapping[str, str]:
        if name not in self._files:
            raise ToolError(f"there is no attempt {name[:100]!r}; there are {', '.join(self._files)}")
        return self._files[name]


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    """Return a call's arguments. Raises ToolError if they are too long or not a JSON object."""
    if len(call.arguments) > _MOST_ARGUMENTS:
        raise ToolError(f"the arguments have more than {_MOST_ARGUMENTS} characters")
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise ToolError("the arguments are not a JSON object")
    return arguments


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise ToolError(f"{key!r} must be a text")
    return value


def _number(given: Mapping[str, Any], key: str, default: int) -> int:
    value = given.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ToolError(f"{key!r} must be a whole number from 1")
    return value


def _lines(text: str) -> list[str]:
    """Return the lines of an artifact, which end at a line feed and at nothing else, as for a compiler."""
    return text.removesuffix("\n").split("\n") if text else []


def _line(text: str) -> str:
    """Return one line of an artifact for a result: with all control characters escaped, and cut if it is very long.

    A carriage return or a vertical tab that was shown as it is could pass for a new line, or hide a part of one.
    """
    shown = "".join(
        char if char.isprintable() or char == "\t" else char.encode("unicode_escape", "backslashreplace").decode()
        for char in text[: _MOST_LINE + 1]
    )
    return shown if len(text) <= _MOST_LINE else f"{shown[:_MOST_LINE]} ... ({len(text)} characters)"


def bounded(text: str, most: int) -> str:
    """Return ``text`` in at most ``most`` bytes; a text that was cut says so."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return data.decode()
    note = f"\n... cut: {len(data)} bytes are more than the {most} that are left"
    return data[: max(0, most - len(note))].decode("utf-8", "ignore") + note if most > len(note) else "error: cut"


class Inspection:
    """The turns of one question to a judge with tools. ``room`` is how many bytes the tools may return in all."""

    def __init__(self, question: JudgeRequest, names: Sequence[str], room: int) -> None:
        self._toolbox = Toolbox(question, names)
        self._room = room
        self._number = question.ask.number
        self.request = with_tools(question, names)
        self.turns: list[Answered] = []

    async def follow(self, completion: Completion, question: str) -> Reading | Failure:
        """Run the tools that ``completion`` calls; ``request`` is then the next one to send to the judge.

        Returns what is noted of the turn, or a failure if no further turn is allowed. ``question`` is the turn's key in
        the ledger.
        """
        words, calls = said_and_calls(completion)
        names = ", ".join(dict.fromkeys(call.name for call in calls)) or "nothing that can be read"
        reading = Reading((), "strict", f"called {names}"[:300])
        ask = self.request.ask
        failed = completion.failed or NO_FAILED_CALLS
        self.turns.append(Answered(ask, reading, completion.usage, failed, question))
        turn = len(self.turns)
        if turn > TURNS or not calls:
            # A number of its own, for the last turn's number has the last answer.
            self.request = replace(self.request, ask=self._numbered(turn))
            why = f"the judge called tools in {turn} answers and gave no verdict; it may call them in {TURNS}"
            return Failure("bad_reply", why if calls else "the judge called tools in a form that cannot be read")
        answered = calls[:_MOST_CALLS]
        results = [await self._result(call) for call in answered]
        if len(calls) > _MOST_CALLS:
            results[-1] += f"\n(A turn may have {_MOST_CALLS} calls; {len(calls) - _MOST_CALLS} more were not made.)"
        if turn == TURNS:
            results[-1] += _LAST
        following = with_results(self.request, words, answered, results, turn=turn)
        self.request = replace(following, ask=self._numbered(turn))
        return reading

    async def _result(self, call: ToolCall) -> str:
        if self._room <= 0:
            return "error: the tools have returned all that they may about this question; answer now, without a call"
        result = await asyncio.to_thread(self._toolbox.run, call, min(self._room, MOST_RESULT))
        self._room -= len(result.encode())
        return result

    def _numbered(self, turn: int) -> Ask:
        return replace(self.request.ask, number=self._number + turn * _NUMBERS, cause="tools")
