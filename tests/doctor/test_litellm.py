"""A judge that goes through LiteLLM is examined under its name, at several addresses, too."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("litellm", reason="LiteLLM is not installed: pip install 'calipers[litellm]'")

from calipers.doctor import diagnose
from doctor.probe_judges import judge
from servers.faulty_server import FaultyServer, error

pytestmark = pytest.mark.filterwarnings("default")  # LiteLLM's own


async def test_a_good_judge_through_litellm_is_fit(faulty: FaultyServer) -> None:
    faulty.script(judge())
    found = await diagnose("litellm/openai/m", base_url=faulty.url, api_key="k", rng=random.Random(1))
    assert found.verdict == "fit"
    assert found["json_schema applied"].figures["applied"] is True
    assert found.settings == {"judge": "litellm/openai/m", "base-url": faulty.url}


async def test_a_model_that_is_not_there_is_found_by_the_first_question(faulty: FaultyServer) -> None:
    faulty.script(error(404, "The model `m` does not exist"))
    found = await diagnose("litellm/openai/m", base_url=faulty.url, api_key="k")
    assert (found.verdict, found["answers"].standing) == ("unfit", "bad")
