"""The example of the whole loop with verifiers and prime-rl makes the policy better."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from example_loops import run_loop


@pytest.mark.timeout(600)
def test_the_loop_with_prime_rls_parts_makes_the_policy_better(tmp_path: Path):
    if any(find_spec(name) is None for name in ("prime_rl", "torch", "transformers")):
        pytest.skip("prime-rl's source is not on the path (.ci/engines)")
    assert "accepted by prime-rl's loader: episodes of 8 rollouts" in run_loop("prime_rl_loop.py", tmp_path)
