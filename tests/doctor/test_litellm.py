"""A judge that goes through LiteLLM is examined under its name."""

import random
from typing import Any

import pytest

from calipers.doctor import diagnose
from doctor.probe_judges import judge
from servers.faulty_server import FaultyServer, error

pytest.importorskip("litellm", reason="LiteLLM is not installed: pip install 'calipers[litellm]'")


@pytest.mark.filterwarnings("default")  # LiteLLM's own
async def test_a_judge_that_goes_through_litellm_is_examined_under_its_name(faulty: FaultyServer):
    asked: dict[str, Any] = {"base_url": faulty.url, "api_key": "k", "rng": random.Random(1)}
    faulty.script(judge())
    found = await diagnose("litellm/openai/m", **asked)
    assert (found.verdict, found["json_schema applied"].figures["applied"]) == ("fit", True)
    assert found.settings == {"judge": "litellm/openai/m", "base-url": faulty.url}
    faulty.script(error(404, "The model `m` does not exist"))
    found = await diagnose("litellm/openai/m", **asked)
    assert (found.verdict, found["answers"].standing) == ("unfit", "bad")
