"""What the logger ``calipers`` tells of judges' servers: each event once, at its documented level, without texts."""

import logging
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from backends.asking import question
from calipers.backends.limits.budget import Budget, Budgeted
from calipers.backends.limits.circuit_breaker import CircuitBreaker
from calipers.backends.limits.pool import Pool
from calipers.backends.limits.retry import Retrying
from calipers.errors import BackendError, TransientError
from calipers.interfaces import Backend
from calipers.types import Completion, JudgeRequest, Usage

TEXT = "a candidate's words, which the server's error repeats"
DOWN = TransientError("unreachable", f"connection refused: {TEXT}")


@dataclass
class Judge:
    """Answers, or raises ``error``."""

    endpoint: str = "http://gpu1/v1"
    model: str = "m"
    error: BackendError | None = None

    async def complete(self, request: JudgeRequest) -> Completion:
        if self.error is not None:
            raise self.error
        return Completion("done", usage=Usage(10, 1))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger="calipers")
    return caplog


def levels(told: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    assert TEXT not in told.text
    return [(record.levelname, record.getMessage()) for record in told.records]


async def asked(judge: Backend) -> None:
    with suppress(BackendError):
        await judge.complete(question(text=TEXT))


async def test_a_dead_server_is_a_warning_once_and_so_is_its_return(told: pytest.LogCaptureFixture):
    judge, clock = Judge(error=DOWN), Clock()
    paused = CircuitBreaker(judge, failures=2, seconds=1, clock=clock)
    for _ in range(4):
        clock.now += 1
        await asked(paused)
    clock.now += 60
    await asked(paused)  # a test call
    judge.error = None
    clock.now += 60
    await asked(paused)
    await asked(paused)
    paused_now = "2 calls in a row failed (unreachable last): it is paused, and tested every 5 s or less often"
    assert levels(told) == [
        ("WARNING", f"m at http://gpu1/v1: {paused_now}"),
        ("INFO", "m at http://gpu1/v1: still down (unreachable); the next test in 10 s"),
        ("WARNING", "m at http://gpu1/v1: it answers again, and calls go on"),
    ]


async def test_a_retry_is_told_for_debugging(told: pytest.LogCaptureFixture):
    async def sleep(seconds: float) -> None:
        pass

    await asked(Retrying(Judge(error=DOWN), attempts=3, sleep=sleep))
    assert [level for level, _ in levels(told)] == ["DEBUG", "DEBUG"]
    expected = r"m at http://gpu1/v1: a call failed \(unreachable\), attempt 1 of 3; the next in 0\.\d s"
    assert re.fullmatch(expected, told.messages[0])


async def test_a_spent_budget_is_a_warning_once(told: pytest.LogCaptureFixture):
    judge = Budgeted(Judge(), budget=Budget(calls=1))
    for _ in range(5):
        await asked(judge)
    assert levels(told) == [("WARNING", "the budget is spent, and no further call is made: 1 of 1 calls are made")]


async def test_a_server_of_several_that_fails_is_told_and_warned_of_at_the_third_time(told: pytest.LogCaptureFixture):
    down, clock = Judge(error=DOWN), Clock()
    pool = Pool([down, Judge("http://gpu2/v1")], clock=clock)
    for _ in range(4):
        clock.now += 1000
        await asked(pool)
    down.error = None
    clock.now += 1000
    await asked(pool)
    assert [level for level, _ in levels(told)] == ["INFO", "INFO", "WARNING", "INFO", "INFO"]
    assert told.messages[-1] == "m at http://gpu1/v1: it answers again"


def test_every_logger_of_the_package_is_documented():
    root = Path(__file__).resolve().parents[3]
    page = (root / "docs" / "health.md").read_text(encoding="utf-8")
    for path in (root / "src" / "calipers").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for name in re.findall(r'getLogger\("(calipers\.\w+)"\)', source):
            assert f"`{name}`" in page, f"{path}: {name}"
        if "getLogger(__name__)" in source:
            subject = path.relative_to(root / "src").with_suffix("").parts[1]
            assert f"`calipers.{subject}" in page, f"{path}: calipers.{subject}"
