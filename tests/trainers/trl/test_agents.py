"""A LangGraph agent, and an agent with an MCP server's tools: the example trains both end to end with TRL."""

from pathlib import Path

import pytest

from example_loops import run_loop


@pytest.mark.timeout(600)
def test_a_langgraph_agent_is_trained_end_to_end(tmp_path: Path):
    pytest.importorskip("trl", reason="TRL is not installed: pip install 'calipers[trl]'")
    pytest.importorskip("langgraph.graph", reason="langgraph is not installed (.ci/engines)")
    run_loop("agent_loop.py", tmp_path, "langgraph")


@pytest.mark.timeout(600)
def test_an_agent_with_the_tools_of_an_mcp_server_is_trained_end_to_end(tmp_path: Path):
    pytest.importorskip("trl", reason="TRL is not installed: pip install 'calipers[trl]'")
    pytest.importorskip("mcp.server.mcpserver", reason="mcp>=2 is not installed (.ci/engines)")
    run_loop("agent_loop.py", tmp_path, "mcp")
