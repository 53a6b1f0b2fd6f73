"""A LangGraph agent and an agent with the tools of an MCP server: their own messages are trajectories, and are scored.

The agents' policies are scripted; the graph, the tool node, the server and the client are the packages' own.
"""

from __future__ import annotations

from typing import Any

import pytest

from art_judges import ContentJudge
from calipers import Judge
from calipers.inputs.groups import as_group

QUESTION = "What are 6 boxes of 7?"
POLICIES = {"careful": ("multiply", "worth 90"), "hasty": (None, "worth 20"), "wrong": ("divide", "worth 10")}
"""The tool that each scripted policy calls, and what its answer says that it is worth."""


async def scored(group: dict[str, Any]) -> tuple[str, list[float | None]]:
    """What the judge was shown, and the rewards in the order of the group."""
    judge = ContentJudge()
    result = await Judge(judge).score_group(group)
    return str(judge.asked[-1].messages[1]["content"]), result.rewards


async def test_a_langgraph_agent_is_scored_by_the_messages_of_its_state():
    reason = "langgraph is not installed (.ci/engines): only recorded messages are tested"
    graph = pytest.importorskip("langgraph.graph", reason=reason)
    prebuilt = pytest.importorskip("langgraph.prebuilt", reason=reason)
    messages = pytest.importorskip("langchain_core.messages", reason=reason)

    def multiply(a: int, b: int) -> int:
        """Multiply two numbers."""
        return a * b

    def agent(tool: str | None, answer: str) -> Any:
        def act(state: dict[str, Any]) -> dict[str, Any]:
            if tool is None or isinstance(state["messages"][-1], messages.ToolMessage):
                return {"messages": [messages.AIMessage(answer)]}
            call = {"name": tool, "args": {"a": 6, "b": 7}, "id": "call_1", "type": "tool_call"}
            return {"messages": [messages.AIMessage("", tool_calls=[call])]}

        built = graph.StateGraph(graph.MessagesState)
        built.add_node("agent", act)
        built.add_node("tools", prebuilt.ToolNode([multiply]))
        built.add_edge(graph.START, "agent")
        built.add_conditional_edges("agent", prebuilt.tools_condition)
        built.add_edge("tools", "agent")
        return built.compile()

    rollouts = {}
    for name, policy in POLICIES.items():
        state = await agent(*policy).ainvoke({"messages": [messages.HumanMessage(QUESTION)]})
        rollouts[name] = state["messages"]
    shown, rewards = await scored({"trajectories": [{"id": name, "messages": one} for name, one in rollouts.items()]})
    assert rewards == [0.9, 0.2, 0.1]
    assert shown.count(QUESTION) == 1  # once, for all of them
    assert 'call c1 multiply {"a":6,"b":7}' in shown
    assert "\n42\n" in shown
    assert "error c1" in shown  # a tool that the agent does not have


async def test_an_mcp_agent_is_scored_by_the_servers_tools_and_results():
    reason = "mcp>=2 is not installed (.ci/engines): only recorded results are tested"
    server = pytest.importorskip("mcp.server.mcpserver", reason=reason)
    client = pytest.importorskip("mcp.client.client", reason=reason)
    made = server.MCPServer("boxes")

    @made.tool()
    def multiply(a: int, b: int) -> int:
        """Multiply two numbers."""
        return a * b

    trajectories = []
    async with client.Client(made) as session:
        tools = await session.list_tools()
        for name, (tool, answer) in POLICIES.items():
            messages: list[Any] = []
            if tool is not None:
                call = {"id": "c", "type": "function", "function": {"name": tool, "arguments": '{"a":6,"b":7}'}}
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
                try:
                    result = await session.call_tool(tool, {"a": 6, "b": 7})
                except Exception as error:  # noqa: BLE001 - what an agent is told of a call that failed
                    result = {"content": [{"type": "text", "text": str(error)}], "isError": True}
                messages.append({"role": "tool", "tool_call_id": "c", "content": result})
            trajectories.append({"id": name, "messages": [*messages, {"role": "assistant", "content": answer}]})
    group = {"context": [{"role": "user", "content": QUESTION}], "tools": tools, "trajectories": trajectories}
    assert [tool["function"]["name"] for tool in as_group(group).tools or ()] == ["multiply"]
    shown, rewards = await scored(group)
    assert rewards == [0.9, 0.2, 0.1]
    assert "Multiply two numbers." in shown
    assert "result c1\n42\n" in shown
    assert "error c1" in shown
