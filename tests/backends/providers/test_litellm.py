"""LiteLLM is imported only when a judge needs it, and its absence is one sentence."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from calipers.backends.connect import find_backend
from calipers.errors import ConfigError

INSTALLED = importlib.util.find_spec("litellm") is not None


@pytest.mark.skipif(INSTALLED, reason="LiteLLM is installed here")
@pytest.mark.parametrize("name", ["bedrock/anthropic.claude", "litellm/openai/gpt", "vertex_ai/gemini"])
def test_its_absence_is_one_sentence_with_the_command_and_the_warning(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find_backend(name)
    assert "pip install 'calipers[litellm]'" in str(caught.value)
    assert "1.82.7 and 1.82.8" in str(caught.value)


def test_a_native_judge_does_not_import_it() -> None:
    code = (
        "import sys; from calipers.backends.connect import find_backend; "
        "find_backend('vllm/m', base_url='http://h/v1'); find_backend('anthropic/m', api_key='k'); "
        "sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
