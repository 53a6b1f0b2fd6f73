"""Which judge may judge which policy: none of its own model family."""

import pytest

from calipers.errors import ConfigError
from calipers.judging.families import families_of_model, require_other_family
from calipers.testing import SimulatedJudge
from groups import QUALITY


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
    assert families_of_model(name) == found


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
