"""What happens to rollouts of verl's agent loop: scored, lost, refused.

One function for each part of what ``verl_run`` reports. Not responsible for the engine (``verl_engine``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from servers.faulty_server import FaultyServer
from trainers.verl.verl_engine import (
    ESTIMATORS,
    PLAN,
    Engine,
    configured,
    expected,
    policy,
    recorded_steps,
)


def agent_loop(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """The way in for training: verl's manager class, its workers, its replay buffers, its advantages."""
    from verl.utils.import_utils import load_class_from_fqn  # noqa: PLC0415 - only where verl is

    config = configured(
        model,
        f"actor_rollout_ref.rollout.multi_turn.function_tool_path={model.parent / 'tool.py'}",
        "+actor_rollout_ref.rollout.agent.agent_loop_manager_class=calipers.trainers.verl.AgentLoopManager",
        *(
            "+calipers.judge=vllm/judge",
            f"+calipers.base_url={server.url}",
            "+calipers.attempts=1",
            "+calipers.reasks=1",
            f"+calipers.ledger={model.parent / 'ledger.db'}",
        ),
    )
    kind = load_class_from_fqn(config.actor_rollout_ref.rollout.agent.agent_loop_manager_class)
    manager = kind.create(
        config=config, llm_client=policy(tokenizer), teacher_client=None, reward_loop_worker_handles=None
    )
    engine = Engine(config, manager, tokenizer)
    report = engine.roll_out(list(PLAN), prefix="s", step=3)
    report["questions"] = len(server.posts)
    shown = [post["messages"][-1]["content"] for post in server.posts]
    report["tools shown"] = next(question for question in shown if "prompt tools" in question)
    taken = engine.sampled("sync", len(PLAN))["batch"]
    masks = engine.masks(taken.keys)
    rewards = {label: report["rewards"][label] for label in engine.labels(taken.keys)}
    report["advantages"] = {
        estimator: [engine.advantages(taken, estimator), expected(rewards, masks, config, estimator)]
        for estimator in ESTIMATORS
    }
    report["scores"] = [one["calipers_score"] for one in engine.infos(taken.keys)]
    report["validation"] = engine.roll_out(["plain"], prefix="v", partition="val", size=1)
    report["training alone"] = engine.roll_out(["plain"], prefix="o", size=1)
    again = engine.roll_out(list(PLAN), prefix="a")
    evicted = engine.sampled("async", sum(status == "finished" for status in again["status"].values()))
    trained = sorted({label.split(": ")[0] for label in engine.labels(evicted["batch"].keys)})
    report["async"] = {"refilled": evicted["refilled"], "metrics": evicted["metrics"], "trained": trained}
    report["failed step"] = failed_step(engine)
    report["refilled step"] = refilled_step(engine)
    report["refused"] = refused(kind, model)
    report["recorded steps"] = recorded_steps(model.parent / "ledger.db")
    return report


def failed_step(engine: Engine) -> str:
    """What verl's synchronous trainer says to a step none of whose groups got a reward."""
    engine.roll_out(["dead"], prefix="f")
    try:
        engine.sampled("sync", 1)
    except RuntimeError as caught:
        return str(caught)
    return ""


def refilled_step(engine: Engine) -> list[str]:
    """What its step then holds if it is to replace failed groups, and the next prompt is a good one."""
    taken = engine.sampled(
        "sync",
        1,
        refill=lambda _: engine.roll_out(["plain"], prefix="g"),
        sync_refill_failed_groups=True,
        gen_batch_size=1,
    )
    return sorted(engine.labels(taken["batch"].keys))


def refused(kind: Any, model: Path) -> dict[str, str]:
    """What the manager says, before any rollout, to configurations that cannot work."""
    wrong = {
        "no judge": [],
        "typo": ["+calipers.judge=embedded", "+calipers.ordres=2"],
        "key": ["+calipers.judge=embedded", "+calipers.api_key=secret"],
        "lone": ["+calipers.judge=embedded", "actor_rollout_ref.rollout.n=1"],
        "unreachable": [
            "+calipers.judge=vllm/judge",
            "+calipers.base_url=http://127.0.0.1:9/v1",
            "+calipers.attempts=1",
        ],
        "old trainer": ["+calipers.judge=embedded", "transfer_queue.enable=false"],
    }
    told = {}
    for name, overrides in wrong.items():
        try:
            kind.create(config=configured(model, *overrides), llm_client=None)
        except Exception as caught:  # noqa: BLE001 - which one it is, is what is looked at
            told[name] = f"{type(caught).__name__}: {caught}"
    return told
