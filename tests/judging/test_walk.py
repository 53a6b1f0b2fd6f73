"""How much code a warm call of ``score_group`` crosses with a backend of one's own."""

from __future__ import annotations

import inspect
import json
import math
import re
import sys
from pathlib import Path
from types import CodeType, FrameType

import calipers
from calipers.pacing import pace_of_loop
from calipers.types import Completion, JudgeRequest

SOURCE = Path(calipers.__file__).parent
MOST_FILES, MOST_FUNCTIONS, MOST_CALLS = 24, 157, 320


class Rising:
    """A judge that scores the attempts it is shown in a rising row."""

    endpoint, model = "test", "rising"

    async def complete(self, request: JudgeRequest) -> Completion:
        keys = request.messages[1]["content"].split("Score these attempts: ")[1].split(".\n")[0].split(", ")
        scores = {key: 50 + 7 * place for place, key in enumerate(keys)}
        text = json.dumps({"explanations": dict.fromkeys(keys, "fine"), "scores": scores})
        return Completion(text=text, model="rising", finish_reason="stop")


def group(number: int) -> list[list[dict[str, str]]]:
    question = {"role": "user", "content": f"What is {number} + 2?"}
    return [[question, {"role": "assistant", "content": f"It is {number + error}."}] for error in range(4)]


async def walked(judge: calipers.Judge) -> tuple[calipers.GroupResult, list[CodeType]]:
    """The result of one more group, and the code of every call inside calipers that it made."""
    calls: list[CodeType] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and Path(frame.f_code.co_filename).is_relative_to(SOURCE):
            calls.append(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        return await judge.score_group(group(9)), calls
    finally:
        sys.setprofile(before)


async def warm_walk() -> tuple[calipers.GroupResult, list[CodeType]]:
    """The walk of a warm group without pauses: how often the loop pauses depends on the machine's load."""
    pace_of_loop()._ends = math.inf  # so three functions and some ten calls of a pause are not counted
    async with calipers.Judge(Rising()) as judge:
        for number in range(3):
            await judge.score_group(group(number))
        return await walked(judge)


async def test_a_warm_group_crosses_few_files_functions_and_calls() -> None:
    result, calls = await warm_walk()
    assert result.status == "scored"
    files = {code.co_filename for code in calls}
    sys.stdout.write(f"a warm group: {len(files)} files, {len(set(calls))} functions, {len(calls)} calls\n")
    assert len(files) <= MOST_FILES
    assert len(set(calls)) <= MOST_FUNCTIONS
    assert len(calls) <= MOST_CALLS


async def test_the_page_of_the_core_names_these_files_and_says_how_long_they_are() -> None:
    page = (SOURCE.parents[1] / "docs" / "core.md").read_text(encoding="utf-8")
    walk = page.partition("## What other settings add")[0]
    _, calls = await warm_walk()
    files = sorted({Path(code.co_filename).relative_to(SOURCE).as_posix() for code in calls})
    rows = re.findall(r"^\| `([\w/]+\.py)`: (.+?) \|", walk, re.MULTILINE)
    assert sorted(file for file, _ in rows) == files
    called = {(code.co_filename, name) for code in calls for name in code.co_qualname.split(".")}
    named = {(str(SOURCE / file), name) for file, names in rows for name in re.findall(r"(\w+)`", names)}
    assert named - called == set()
    others = re.findall(r"`(\w+/[\w/]*(?:\.py)?)`", page.removeprefix(walk))
    assert [path for path in others if not (SOURCE / path).exists()] == []
    lines = {file: (SOURCE / file).read_text(encoding="utf-8").count("\n") for file in files}
    crossed = set[tuple[str, int]]()
    for code in calls:
        if not code.co_name.startswith("<"):
            text, start = inspect.getsourcelines(code)
            crossed |= {(code.co_filename, start + place) for place in range(len(text))}
    sys.stdout.write("".join(f"{count:>7,} {file}\n" for file, count in lines.items()))
    sys.stdout.write(f"{sum(lines.values()):>7,} lines, {len(crossed):,} of them in functions that the group calls\n")
    said = re.search(r"These are (\d+) files with ([\d,]+) lines\. The .+? have ([\d,]+) of", page)
    assert said, "docs/core.md does not say how long the files are"
    number, whole, part = (int(figure.replace(",", "")) for figure in said.groups())
    assert number == len(files)
    assert abs(whole - sum(lines.values())) <= 100
    assert abs(part - len(crossed)) <= 50
