"""The doctor and llama.cpp's own server with random weights: a form that is kept, a form that is ignored, and no
sense.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from calipers.doctor import diagnose
from servers.llama_server import llama_server

pytestmark = pytest.mark.heavy


async def test_random_weights_keep_to_the_schema_and_are_unfit_for_knowing_nothing(llama: str):
    found = await diagnose("llamacpp/tiny", base_url=llama, params={"seed": 3}, max_tokens=1000)
    assert found["json_schema applied"].figures["applied"] is True
    assert found["answers"].figures["readable"] >= 0.9
    assert found.verdict == "unfit"
    assert found.reason.startswith("no better than chance on the probes")


async def test_a_server_that_ignores_forms_is_found_out_by_the_canary(tiny_model: Path):
    with llama_server(tiny_model, applies_schemas=False) as url:
        found = await diagnose("llamacpp/tiny", base_url=url, params={"seed": 3}, max_tokens=150)
    assert found["json_schema applied"].figures == {"applied": False, "refused": False}
    assert found["answers"].figures["used"] == 0
    assert found.verdict == "unfit"
    assert "the schema asked for is not applied" in found.reason
