"""What calipers logs is printed from the level that is asked for; warnings stand above the progress line."""

import re
from pathlib import Path

import pytest

from command_line import Calipers
from servers.faulty_server import Answer, Asked, FaultyServer, error

ROOT = Path(__file__).resolve().parents[2]
GROUPS = ROOT / "examples" / "groups.jsonl"


class BusyOnce:
    """Refuses the first question, and answers all others."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, asked: Asked) -> Answer:
        self.asked += 1
        if self.asked == 1:
            return error(503, "busy", headers={"Retry-After": "0"})
        return Answer(body={"model": "m", "choices": [{"finish_reason": "stop", "message": {"content": "[]"}}]})


@pytest.mark.parametrize("command", ["score", "calibrate"])
def test_retries_are_printed_at_the_level_debug_alone(
    command: str, tmp_path: Path, calipers: Calipers, faulty: FaultyServer
):
    asked: list[object] = [command, GROUPS, "--judge", f"vllm/m@{faulty.url}", "--orders", 1]
    asked += ["-o", "out.jsonl", "--force"] if command == "score" else []
    retry = re.compile(r"^\d\d:\d\d:\d\d debug calipers\.calls: .*a call failed", re.MULTILINE)
    faulty.script(BusyOnce())
    assert not retry.search(calipers("--log-level", "info", *asked).err)
    for ledger in tmp_path.glob("*.db"):
        ledger.unlink()
    faulty.script(BusyOnce())
    said = calipers(*asked, CALIPERS_LOG_LEVEL="debug").err
    assert len(retry.findall(said)) == 1, said


def test_an_unknown_level_is_refused_with_those_that_there_are(calipers: Calipers):
    done = calipers("--log-level", "loud", "score", GROUPS)
    assert done.code == 2
    assert "'loud' is not one of 'debug', 'info', 'warning', 'error'" in done.err
