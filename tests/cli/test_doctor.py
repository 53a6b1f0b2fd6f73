"""``calipers doctor``, run as a person runs it."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from command_line import Calipers, mismatches
from doctor.probe_judges import MODELS, judge
from servers.faulty_server import FaultyServer, said


@pytest.fixture
def good(faulty: FaultyServer) -> FaultyServer:
    faulty.get["/v1/models"] = MODELS
    faulty.script(judge())
    return faulty


def test_a_fit_judge_is_0_and_its_settings_are_those_a_run_takes(
    good: FaultyServer, tmp_path: Path, calipers: Calipers
):
    asking = ("doctor", "--judge", "vllm/m", "--base-url", good.url)
    found = json.loads((done := calipers(*asking, "--json")).out)
    assert (found["verdict"], found["calls"]) == ("fit", 28)
    assert found["checks"]["json_schema applied"]["applied"] is True
    assert (found["checks"]["agreement"]["right"], found["usage"]["cost_usd"]) == (36, None)
    assert "does it answer?" in done.err
    done = calipers(*asking)
    assert done.code == 0, done.err
    assert "vllm/m: fit: 24 of 24 answers readable, 36 of 36 pairs right" in done.out
    pasted = done.out.partition("# judge.toml, for calipers --config judge.toml\n")[2]
    assert tomllib.loads(pasted) == {"judge": "vllm/m", "base-url": good.url}
    (tmp_path / "judge.toml").write_text(pasted)
    group: Any = {"trajectories": [{"id": name, "messages": [{"role": "assistant", "content": name}]} for name in "ab"]}
    (tmp_path / "groups.jsonl").write_text(json.dumps(group) + "\n")
    good.script(said("no verdict"))
    before = len(good.posts)
    scored = calipers("--config", "judge.toml", "score", "groups.jsonl", "-o", "out.jsonl")
    assert scored.code == 1, scored.err  # asked of the judge named in the file, which now says nothing
    assert len(good.posts) > before


def test_an_unfit_judge_is_1_with_the_reason(calipers: Calipers):
    done = calipers("doctor", "--judge", "vllm/m", "--base-url", "http://127.0.0.1:9/v1")
    assert done.code == 1
    assert "vllm/m: unfit: Nothing answers at http://127.0.0.1:9" in done.out
    assert "calipers.toml" not in done.out


def test_bad_usage_is_2_and_one_sentence(calipers: Calipers):
    here = "http://127.0.0.1:9/v1"
    cases: list[tuple[tuple[str, ...], str]] = [
        ((), "--judge"),
        (("--judge", "gpt-5"), "provider/model"),
        (("--judge", "openai/gpt-5"), "OPENAI_API_KEY"),
        (("--judge", "vllm/m", "--base-url", "localhost:8000"), "http://"),
        (("--judge", "vllm/a", "--judge", "vllm/b"), "'--judge': was given more than once"),
        (("--judge", "vllm/a", "--base-url", here, "--base-url", here), "more than once"),
        (("--judge", "embedded", "--price", "cheap"), "--price"),
        (("--judge", "embedded", "--base-url", here), "runs in this process"),
        (("--judge", "embedded", "--within", "0"), "--within"),
    ]
    assert mismatches(calipers, [(("doctor", *arguments), words) for arguments, words in cases]) == []
