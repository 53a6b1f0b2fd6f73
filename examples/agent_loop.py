"""A LangGraph agent, or an agent with an MCP server's tools, trained end to end with TRL's GRPO on a CPU.

    python examples/agent_loop.py [langgraph|mcp] [FOLDER]

Needs TRL (pip install '.[trl]'), langgraph or mcp>=2, and matplotlib for the figure. The policy is a one-layer
model with random weights (tiny.py). It speaks twice: a tool and an item, and, once the tool has answered, one word. The
graph and its tool node, the MCP server and its client are the packages' own; calipers reads their messages as they are.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import datasets
import trl
from tiny import Policy, draw

import calipers
from calipers.inputs import canonical
from calipers.trainers.trl import reward_func
from calipers.types import Completion, JudgeRequest

SHOP = {"lamp": "yes", "rope": "no", "tent": "yes", "sled": "no", "kite": "yes"}
TRUCK = {"lamp": "no", "rope": "yes", "tent": "yes", "sled": "no", "kite": "no"}
ASKED = {"shop": "is a {} left", "truck": "will a {} come"}
HELD_OUT = [ASKED[tool].format(item) for tool, item in (("shop", "tent"), ("truck", "rope"), ("truck", "sled"))]
TRAINED = [text for one in ASKED.values() for item in SHOP if (text := one.format(item)) not in HELD_OUT]
WORDS = [*ASKED, *SHOP, "yes", "no", *" ".join(ASKED.values()).replace("{}", "").split()]
GROUP, STEPS = 8, 60


def shop(item: str) -> str:
    """Look up whether an item is in the shop."""
    return SHOP.get(item, "unknown")


def truck(item: str) -> str:
    """Look up whether an item is on today's truck."""
    return TRUCK.get(item, "unknown")


def called(words: str) -> dict[str, Any] | None:
    """Return the tool call that two words of the policy are; None if they are none."""
    tool, item = words.split()
    return {"name": tool, "args": {"item": item}, "id": "call_1", "type": "tool_call"} if tool in ASKED else None


def worth(question: str, tool: str | None, item: str, *, told: bool) -> float:
    """Return what a rollout is worth: 0.1 for any call, 0.4 for the tool, 0.2 for the item, and 0.3 for the answer."""
    if tool is None:
        return 0.0
    tool_fits, item_fits = question.startswith(ASKED[tool].split()[0]), item in question.split()
    return 0.1 + 0.4 * tool_fits + 0.2 * item_fits + 0.3 * (tool_fits and item_fits and told)


def words_of(message: Mapping[str, Any]) -> str:
    """Return a chat message as the policy reads and writes it."""
    for call in message.get("tool_calls") or ():
        return " ".join((call["function"]["name"], *json.loads(call["function"]["arguments"]).values()))
    return str(message["content"])


def text_of(messages: Sequence[Any]) -> str:
    """Return a conversation, of any library's messages, as the policy reads it."""
    return " ".join(map(words_of, canonical(messages)))


# --- two agents: each plays a question with the policy, and returns its own messages ----------------------------------

Messages = list[Any]
Play = Callable[[Policy, Sequence[str]], list[Messages]]


def langgraph_agent(policy: Policy, questions: Sequence[str]) -> list[Messages]:
    """Return the states' messages of a LangGraph agent, for each question."""
    from langchain_core.language_models.chat_models import BaseChatModel  # noqa: PLC0415 - comes with langgraph
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415 - likewise
    from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: PLC0415 - likewise
    from langgraph.graph import START, MessagesState, StateGraph  # noqa: PLC0415 - one of two
    from langgraph.prebuilt import ToolNode, tools_condition  # noqa: PLC0415 - likewise

    class Chat(BaseChatModel):  # in earnest: langchain_openai.ChatOpenAI at the trainer's vLLM, .bind_tools(TOOLS)
        _llm_type = "tiny"

        def _generate(self, messages: Messages, *_: Any, **__: Any) -> Any:
            words = policy.answers(text_of(messages), 1, 2 if len(messages) == 1 else 1)[0]
            call = called(words) if len(messages) == 1 else None
            said = AIMessage("" if call else words, tool_calls=[call] if call else [])
            return ChatResult(generations=[ChatGeneration(message=said)])

    chat = Chat()
    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda state: {"messages": [chat.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([shop, truck]))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    agent = graph.compile()
    return [agent.invoke({"messages": [HumanMessage(one)]})["messages"] for one in questions]


def mcp_agent(policy: Policy, questions: Sequence[str]) -> list[Messages]:
    """Return the messages of an agent that calls the tools of an MCP server, for each question."""
    from mcp.client.client import Client  # noqa: PLC0415 - one of two
    from mcp.server.mcpserver import MCPServer  # noqa: PLC0415 - likewise

    server = MCPServer("shop")
    server.tool()(shop)
    server.tool()(truck)

    async def played() -> list[Messages]:
        async with Client(server) as session:
            return [await one(session, question) for question in questions]

    async def one(session: Any, question: str) -> Messages:
        messages: Messages = [{"role": "user", "content": question}]
        words = policy.answers(question, 1, 2)[0]
        if (call := called(words)) is None:
            return [*messages, {"role": "assistant", "content": words}]
        function = {"name": call["name"], "arguments": json.dumps(call["args"])}
        asked = {"id": call["id"], "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [asked]})
        result = await session.call_tool(call["name"], call["args"])
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        return [*messages, {"role": "assistant", "content": policy.answers(text_of(messages), 1, 1)[0]}]

    return asyncio.run(played())


AGENTS: dict[str, Play] = {"langgraph": langgraph_agent, "mcp": mcp_agent}


# --- what trains them ---------------------------------------------------------------------------------------------


class EvidenceJudge:
    """Stands for a judge: it holds an answer against the tool's result in the transcript, up to 5 points off."""

    endpoint = "example"
    model = "evidence"

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return scores from 0 to 100 for the rollouts that the question shows."""
        scores = {}
        for key, place in zip(request.keys, request.ask.order, strict=True):
            parts = (*request.view.head, *request.view.candidates[place].body)
            shown = "".join(part for part in parts if isinstance(part, str))
            question = re.findall(r" user\n(.*)\n", shown)[0]
            calls = re.findall(r' call \w+ (\w+) \{"item": ?"(.*)"\}\n', shown)
            results = re.findall(r" result .*\n(.*)\n", shown)
            told = bool(results) and re.findall(r" assistant\n(.*)\n", shown)[-1] == results[0]
            off = hashlib.sha256(shown.encode()).digest()[0] % 11 - 5
            points = 100 * worth(question, *(calls[0] if calls else (None, "")), told=told)
            scores[key] = min(max(round(points) + off, 0), 100)
        return Completion(json.dumps({"explanations": {}, "scores": scores}), finish_reason="stop", model=self.model)


def truth(question: str, messages: Messages) -> float:
    """Return what a rollout is worth by what is really in the shop and on the truck."""
    said = [words_of(one) for one in canonical(messages)[1:]]
    tool, item = said[0].split()
    if len(said) == 1:
        return 0.0
    return worth(question, tool, item, told=said[-1] == {"shop": SHOP, "truck": TRUCK}[tool].get(item))


def measured(play: Play, policy: Policy) -> float:
    """Return the mean truth of rollouts of questions that training has not seen."""
    questions = [one for one in HELD_OUT for _ in range(32)]
    return sum(map(truth, questions, play(policy, questions))) / len(questions)


def trained(play: Play, policy: Policy, folder: Path) -> list[float]:
    """Train the policy by the judge's rewards with TRL's GRPO; return the mean reward of each step."""

    def rollouts(prompts: list[str], _: Any) -> dict[str, Any]:
        """Play a rollout for each prompt; what tools said is read, and not trained on."""
        played = play(policy, prompts)
        ids, masks = [], []
        for messages in played:
            turns = [(policy.tokens(words_of(one))["input_ids"], one["role"]) for one in canonical(messages)[1:]]
            ids.append([token for tokens, _ in turns for token in tokens])
            masks.append([int(role == "assistant") for tokens, role in turns for _ in tokens])
        asked = [policy.tokens(one)["input_ids"] for one in prompts]
        return {"prompt_ids": asked, "completion_ids": ids, "logprobs": None, "env_mask": masks, "played": played}

    judged = reward_func(calipers.Judge(EvidenceJudge()), num_generations=GROUP, only_reward=True)

    async def judge(prompts: Any, completions: Any, played: list[Messages], **columns: Any) -> list[float | None]:
        """Have calipers judge the agent's own messages in place of decoded tokens."""
        del completions
        return await judged(prompts, [messages[1:] for messages in played], **columns)

    config = trl.GRPOConfig(
        output_dir=str(folder), num_generations=GROUP, per_device_train_batch_size=GROUP * len(TRAINED),
        max_steps=STEPS, learning_rate=5e-3, lr_scheduler_type="constant", beta=0.0, logging_steps=1, seed=7,
        gradient_checkpointing=False, save_strategy="no", report_to=[], use_cpu=True, bf16=False, disable_tqdm=True,
    )  # fmt: skip
    runner = trl.GRPOTrainer(
        model=policy.model,
        args=config,
        train_dataset=datasets.Dataset.from_dict({"prompt": TRAINED}),
        reward_funcs=judge,
        rollout_func=rollouts,
        processing_class=policy.tokens,
    )
    runner.train()
    return [float(entry["reward"]) for entry in runner.state.log_history if "reward" in entry]


def main(agent: str = "langgraph", folder: str = "agent_loop") -> None:
    """Train the agent, print what came of it, and write the figure."""
    policy = Policy(WORDS)
    before = measured(AGENTS[agent], policy)
    rewards = trained(AGENTS[agent], policy, Path(folder))
    after = measured(AGENTS[agent], policy)
    print(f"{agent}: truth on held-out scenarios: {before:.2f} before, {after:.2f} after {len(rewards)} steps")
    draw(rewards, before, after, Path(folder) / f"{agent}.png")


if __name__ == "__main__":
    main(*sys.argv[1:3])
