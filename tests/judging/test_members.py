"""Who sits on a panel, which options are whose, and who may judge which policy."""

import pytest

from calipers.errors import ConfigError
from calipers.judging.members import each, families, members, require_other_family
from calipers.testing import SimulatedJudge
from groups import QUALITY


def test_one_judge_is_one_member_and_a_list_keeps_its_order():
    assert members("openai/gpt-5-mini") == ("openai/gpt-5-mini",)
    assert members(["b/x", "a/y"]) == ("b/x", "a/y")
    with pytest.raises(ConfigError, match="at least one"):
        members([])


def test_an_option_of_one_judge_must_say_whose_it_is_in_a_panel():
    assert each("api_key", "k", ["a/x"]) == ["k"]
    assert each("api_key", None, ["a/x", "b/y"]) == [None, None]
    assert each("api_key", {"b/y": "k"}, ["a/x", "b/y"]) == [None, "k"]
    with pytest.raises(ConfigError, match="which of the 2 judges"):
        each("api_key", "k", ["a/x", "b/y"])
    with pytest.raises(ConfigError, match="'c/z' is none of the judges"):
        each("api_key", {"c/z": "k"}, ["a/x", "b/y"])


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ollama/qwen3:32b", {"qwen"}),
        ("Qwen/QwQ-32B", {"qwen"}),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", {"deepseek", "llama"}),
        ("llamacpp/mixtral-8x7b", {"mistral"}),
        ("openai/o3-mini", {"gpt"}),
        ("gemini/gemma-3", {"gemini"}),
        ("vllm/my-finetune", set()),
    ],
)
def test_a_models_family_is_read_from_its_name_and_not_from_its_server(name: str, found: set[str]):
    assert families(name) == found


def test_a_judge_of_the_policys_own_family_is_refused_unless_allowed():
    judges = ["openai/gpt-5-mini", "vllm/Qwen3-32B"]
    with pytest.raises(ConfigError, match=r"vllm/Qwen3-32B.*qwen family.*own_family.: True"):
        require_other_family("Qwen/Qwen2.5-7B-Instruct", judges, allowed=False)
    require_other_family("Qwen/Qwen2.5-7B-Instruct", judges, allowed=True)
    require_other_family("allenai/OLMo-2", judges, allowed=False)
    require_other_family(None, judges, allowed=False)
    own = SimulatedJudge(QUALITY, model="qwen3-8b")
    with pytest.raises(ConfigError, match="qwen"):
        require_other_family("qwen2", [own], allowed=False)
