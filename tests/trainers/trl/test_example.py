"""The example of the whole loop with TRL makes the policy better."""

from pathlib import Path

import pytest

from example_loops import run_loop


@pytest.mark.timeout(600)
def test_the_loop_with_trl_makes_the_policy_better(tmp_path: Path):
    pytest.importorskip("trl", reason="TRL is not installed: pip install 'calipers[trl]'")
    assert "9 scenarios for training, of which 9 are kept; 3 held out" in run_loop("trl_loop.py", tmp_path)
