"""The example of the whole loop with verl's parts makes the policy better, and writes a launch script."""

import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from example_loops import run_loop


@pytest.mark.timeout(600)
def test_the_loop_with_verls_parts_makes_the_policy_better(tmp_path: Path):
    missing = [name for name in ("verl", "ray", "hydra", "transformers") if find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (pip install 'calipers[verl]')")
    assert "settings verl's loader accepts" in run_loop("verl_loop.py", tmp_path)
    words = shlex.split((tmp_path / "train.sh").read_text(encoding="utf-8"), comments=True)
    assert words[:3] == ["python", "-m", "verl.trainer.main_ppo"]
    assert "+calipers.base_url=http://localhost:8000/v1" in words
