"""How much code a warm call of ``score_group`` crosses with a backend of one's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import CodeType, FrameType

import calipers
from calipers.types import Completion, JudgeRequest

SOURCE = Path(calipers.__file__).parent
MOST_FILES, MOST_FUNCTIONS, MOST_CALLS = 24, 160, 330


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


async def test_a_warm_group_crosses_few_files_functions_and_calls() -> None:
    async with calipers.Judge(Rising()) as judge:
        for number in range(3):
            await judge.score_group(group(number))
        walks = [await walked(judge) for _ in range(3)]
    # A busy machine makes the loop pause more often, and a pause is a call more: the shortest walk is the code's own.
    result, calls = min(walks, key=lambda walk: len(walk[1]))
    assert result.status == "scored"
    files = {code.co_filename for code in calls}
    sys.stdout.write(f"a warm group: {len(files)} files, {len(set(calls))} functions, {len(calls)} calls\n")
    assert len(files) <= MOST_FILES
    assert len(set(calls)) <= MOST_FUNCTIONS
    assert len(calls) <= MOST_CALLS
