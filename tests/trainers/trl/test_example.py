"""The examples train end to end with TRL: a policy, a LangGraph agent, and an agent with an MCP server's tools."""

from pathlib import Path

import pytest

from example_loops import run_loop

pytest.importorskip("trl", reason="TRL is not installed: pip install 'calipers[trl]'")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("example", "agent", "needed"),
    [
        ("trl_loop.py", (), "trl"),
        ("agent_loop.py", ("langgraph",), "langgraph.graph"),
        ("agent_loop.py", ("mcp",), "mcp.server.mcpserver"),
    ],
)
def test_the_example_trains_end_to_end(example: str, agent: tuple[str, ...], needed: str, tmp_path: Path):
    pytest.importorskip(needed, reason=f"{needed} is not installed (.ci/engines)")
    run_loop(example, tmp_path, *agent)
