"""Groups longer than a judge's context window: shortened alike and said so, in time, once, and replayed the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.backends.limits.pool import Pool
from calipers.errors import PermanentError
from calipers.judging.judge import Judge
from calipers.ledger import open_ledger
from calipers.render import text_bytes_and_images
from calipers.testing import SimulatedJudge
from calipers.types import Completion, JudgeRequest, Trajectory, TrajectoryGroup, Usage
from decoded import decode
from replaying import replayed_lines, scored
from servers.dialects import verdict
from servers.faulty_server import Answer, FaultyServer, error, said

TRUTH = {"a": 0.9, "b": 0.6, "c": 0.2}


def searched(rows: int, final: str) -> tuple[Mapping[str, Any], ...]:
    call = {"id": "x", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    listed = "\n".join(f"{final}: row {number}, {number * 37 % 1000} euros" for number in range(rows))
    return (
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "x", "content": listed},
        {"role": "assistant", "content": f"I chose {final}."},
    )


def long_group(rows: int = 400, group_id: str = "g") -> TrajectoryGroup:
    members = tuple(
        Trajectory(name, searched(rows * place, f"{group_id}{name}")) for place, name in enumerate("abc", 1)
    )
    return TrajectoryGroup(group_id, members, context=({"role": "user", "content": "Find the cheapest."},))


class Narrow:
    """A judge with a window of ``limit`` tokens of ``size`` bytes, who says so (``tells``) when refusing."""

    endpoint, model = "narrow", "m"

    def __init__(
        self, limit: int = 4096, *, size: float = 4.0, tells: bool = True, truth: dict[str, float] = TRUTH
    ) -> None:
        self.limit, self.size, self.tells = limit, size, tells
        self.asked: list[JudgeRequest] = []
        self._honest = SimulatedJudge(truth)

    async def complete(self, request: JudgeRequest) -> Completion:
        self.asked.append(request)
        prompt = int(text_bytes_and_images(request)[0] / self.size)
        if prompt > self.limit:
            sizes: dict[str, Any] = {"limit": self.limit, "prompt": prompt} if self.tells else {}
            raise PermanentError("context_window", f"{prompt} tokens into {self.limit}", **sizes)
        completion = await self._honest.complete(request)
        return Completion(completion.text, usage=Usage(prompt, 10))


def gaps(result: calipers.GroupResult) -> list[str]:
    return [line for line in result.warnings if line.endswith(" left out")]


# --- a window that is known ---


async def test_a_group_over_the_window_is_shortened_scored_and_says_so() -> None:
    judge = Narrow()
    result = await Judge(judge, calls={"context_window": 4096}).score_group(long_group())
    assert result.status == "scored"
    assert result.rewards == list(TRUTH.values())
    assert len(judge.asked) == 1
    told = gaps(result)
    assert sorted(line.split(":")[0] for line in told) == ["trajectory 'a'", "trajectory 'b'", "trajectory 'c'"]
    assert all("characters of 1 text left out" in line for line in told)
    question = str(judge.asked[0].messages[1]["content"])
    assert question.count("characters left out …") == 3
    decoded = decode((question,), keys=judge.asked[0].keys)
    assert {messages[-1]["content"] for messages in decoded.messages.values()} >= {"I chose ga."}


# --- a window that the server tells ---


async def test_a_refusal_that_tells_the_window_is_followed_by_one_question_that_fits() -> None:
    judge = Narrow(size=1.7)
    result = await Judge(judge).score_group(long_group())
    assert result.status == "scored"
    assert [request.ask.cause for request in judge.asked] == ["first", "window"]
    assert len(gaps(result)) == 3
    assert result.judge_calls == 1


async def test_a_server_that_refuses_for_ever_is_asked_twice_at_most() -> None:
    for tells in (True, False):
        judge = Narrow(size=0.001, tells=tells)
        result = await Judge(judge).score_group(long_group())
        assert result.status == "abstained"
        assert len(judge.asked) <= 2
        assert "4096" in str(result.trajectories[0].reason)


async def test_what_a_run_learned_serves_the_next_one_and_each_replays_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    for number, calls in ((1, 3), (2, 2)):  # the first group of all is refused whole
        judge = Narrow(size=2.5)
        async with Judge(judge, ledger=path) as asking:
            results = [await asking.score_group(long_group(group_id=f"g{number}{n}")) for n in range(2)]
        assert ({result.status for result in results}, len(judge.asked)) == ({"scored"}, calls)
        assert await replayed_lines(path, number) == [json.dumps(result.to_dict()) for result in results]
    with open_ledger(path) as ledger:
        window = json.loads(ledger.rows("SELECT value FROM learned", ())[0][0])["window"]
    assert window["tokens"] == 4096
    assert window["bytes_per_token"] <= 2.5


async def test_a_run_begun_again_shows_the_same_groups_the_same_and_pays_for_none(tmp_path: Path) -> None:
    first, second = Narrow(size=2.5), Narrow(size=2.5)
    made = [long_group(group_id=f"g{number}") for number in range(4)]
    lines = [await scored(tmp_path / "l.db", judge, made, concurrency=1) for judge in (first, second)]
    assert lines[0] == lines[1]
    answered = [request for request in second.asked if text_bytes_and_images(request)[0] / 2.5 <= 4096]
    assert answered == []
    assert len(second.asked) < len(first.asked)


async def test_of_several_servers_the_smallest_window_told_holds(tmp_path: Path) -> None:
    class Placed(Narrow):
        def __init__(self, limit: int) -> None:
            super().__init__(limit)
            self.endpoint = f"at-{limit}"

    servers = [Placed(8192), Placed(4096)]
    asking = Judge(Pool(servers), ledger=tmp_path / "l.db", concurrency=4)
    made = (long_group(group_id=f"g{number}") for number in range(16))
    results = [one async for one in asking.score_groups(made, ordered=True)]
    asking.close()
    assert {result.status for result in results} == {"scored"}
    assert asking.settings.windows[-1][2] == 4096
    first = asking.settings.windows[-1][0]
    assert first < 16
    shown = {request.view.group_id: text_bytes_and_images(request)[0] / 4 for one in servers for request in one.asked}
    assert all(shown[f"g{number}"] <= 4096 for number in range(first, 16))


REFUSALS = [
    error(400, "request exceeds the context", type="exceed_context_size_error", n_prompt_tokens=18016, n_ctx=4096),
    error(400, "prompt is too long: 18016 tokens > 4096 maximum"),
    error(400, "This model's maximum context length is 4096 tokens. Please reduce the length of the messages."),
]


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_servers_that_name_the_window_in_their_refusal_get_a_question_that_fits(
    faulty: FaultyServer, refusal: Answer
) -> None:
    def answer(asked: Any) -> Answer:
        text = asked.body["messages"][1]["content"]
        return refusal if len(text) > 12_000 else said(verdict(asked))

    faulty.script(answer)
    result = await Judge("vllm/m", base_url=faulty.url).score_group(long_group())
    assert result.status == "scored"
    assert len(gaps(result)) == 3


@pytest.mark.slow
def test_on_the_command_line_a_flag_names_the_window_and_one_note_tells_of_all_groups(tmp_path: Path) -> None:
    groups = [long_group(group_id=f"g{number}").to_dict() for number in range(3)]
    (tmp_path / "groups.jsonl").write_text("".join(json.dumps(group) + "\n" for group in groups), encoding="utf-8")
    command = [sys.executable, "-m", "calipers", "score", "groups.jsonl", "-o", "out.jsonl", "--context-window", "4096"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert "note (3 groups): shortened to fit the judge's context window" in done.stderr
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [sum("left out" in warning for warning in line["warnings"]) for line in lines] == [3, 3, 3]
