"""What of a judge's name is shown, and what is not."""

import json
from pathlib import Path

import pytest

import calipers
from calipers.backends.names import name_without_password, split_judge_name
from calipers.calibration.collect import JudgeAnswers
from calipers.errors import ConfigError
from calipers.judging.families import families_of_model, require_other_family

SECRET = "vllm/m@http://me:s3cret@127.0.0.1:9/v1"  # noqa: S105 - of nobody


def test_a_base_url_behind_a_name_is_taken_off():
    assert split_judge_name("vllm/qwen3@http://gpu1:8000/v1") == ("vllm/qwen3", "http://gpu1:8000/v1")
    assert split_judge_name("vertex/publishers/x@001") == ("vertex/publishers/x@001", None)


def test_a_password_in_it_is_shown_nowhere(tmp_path: Path):
    assert name_without_password(SECRET) == "vllm/m@http://127.0.0.1:9/v1"
    assert name_without_password("openai/gpt-5-mini") == "openai/gpt-5-mini"
    path = tmp_path / "l.db"
    judge = calipers.Judge([SECRET, "embedded"], panel="fallback", ledger=path)
    assert "s3cret" not in json.dumps(judge.settings.to_dict())
    assert judge.store is not None
    judge.close()
    assert b"s3cret" not in path.read_bytes()
    assert JudgeAnswers(name_without_password(SECRET)).spent().judge == "vllm/m@http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    "options",
    [
        {"judge": SECRET, "base_url": "http://127.0.0.1:9/v1"},
        {"judge": [SECRET, SECRET]},
        {"judge": [SECRET, "embedded"], "price": (1, 2)},
        {"judge": [SECRET, "embedded"], "api_key": {"vllm/x": "k"}},
    ],
)
def test_no_error_about_a_judge_holds_its_password(options: dict[str, object]):
    with pytest.raises(ConfigError) as caught:
        calipers.Judge.of(options)
    assert "s3cret" not in str(caught.value)


def test_a_server_is_no_family():
    assert families_of_model("vllm/m@http://llama-host:8000/v1") == frozenset()
    with pytest.raises(ConfigError) as caught:
        require_other_family("qwen2", ["vllm/qwen3@http://me:s3cret@h/v1"], allowed=False)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("policy", ["m", "vllm/m", "our-lab/M", "/checkpoints/m/"])
def test_a_model_of_no_known_family_is_not_its_own_judge(policy: str):
    with pytest.raises(ConfigError, match=r"vllm/m@http://h/v1 has the same name as the policy .* would judge itself"):
        require_other_family(policy, ["vllm/m@http://me:s3cret@h/v1"], allowed=False)
    require_other_family(policy, ["vllm/m"], allowed=True)
    require_other_family(policy, ["vllm/m-large", "embedded"], allowed=False)
