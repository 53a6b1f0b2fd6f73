"""verl's own V1 code on a CPU, as tests drive it: a tiny model, its configuration, a scripted policy and a step."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

from calipers.ledger import read_ledger
from calipers.ledger.contents import recorded_results
from servers.faulty_server import Answer, Asked, error, said

PLAN: dict[str, list[str | None]] = {
    "plain": ["worth 30", "worth 90", "worth 60", "worth 10"],
    "ties": ["worth 50", "it is worth 50", "worth 20", "worth 80"],
    "even": ["worth 97", "it is worth 97", "all are worth 97", "this too is worth 97"],
    "unscored": ["worth 30", "worth 90 but unscored", "worth 60", "worth 10"],
    "nan": ["worth 30", "worth 90 but nan", "worth 60", "worth 10"],
    "lost": ["worth 30", None, "worth 60", "worth 10"],
    "both": ["worth 30", None, "worth 60", "worth 10 but unscored"],
    "lone": [None, "worth 90 but unscored", "worth 60", "worth 10 but unscored"],
    "dead": ["worth 30", "worth 90", "worth 60", "worth 10"],
    "empty": [None, None, None, None],
    "tools": ["worth 30", "worth 90", "worth 60", "worth 10"],
}
"""Prompts, and what their four rollouts say; None is lost on the way. Which says what is left to chance."""


CALL = '<tool_call>{"name": "weigh", "arguments": {"what": "it"}}</tool_call>'


TOOL = '''
from verl.tools.function_tool import function_tool

@function_tool
async def weigh(what: str) -> str:
    """Weigh it.

    Args:
        what: what to weigh
    """
    return "12 stone"
'''
"""Rollouts of "tools" call this one before they say what they say."""


ESTIMATORS = ("grpo", "rloo", "grpo_vectorized", "rloo_vectorized", "opo", "reinforce_plus_plus_baseline")


def judge(asked: Asked) -> Answer:
    """Each candidate is worth what it says it is; of the unscored it says nothing, and of "dead" prompts nothing at
    all.
    """
    question = asked.body["messages"][-1]["content"]
    if "dead" in question:
        return error(400, "this judge is dead")
    shown = re.findall(r"candidate (\w+)\n(.*?)\n@\w+ end \1", question, re.DOTALL)
    scores = {key: math.nan if "nan" in body else worth(body) for key, body in shown if "unscored" not in body}
    return said(json.dumps({"explanations": {}, "scores": scores}))


def worth(text: str) -> int:
    return int(re.findall(r"worth (\d+)", text)[-1])


class Policy:
    """Stands in for verl's client of its LLM servers: the rollouts of a prompt as they are planned, each later than the
    last.
    """

    def __init__(self, plan: Mapping[str, Sequence[list[int] | None]], needles: Mapping[str, list[int]]) -> None:
        self.plan, self.needles = plan, needles
        self.asked: dict[str, int] = dict.fromkeys(plan, 0)

    async def generate(self, request_id: str, *, prompt_ids: list[int], **_: Any) -> Any:
        from verl.workers.rollout.replica import TokenOutput  # noqa: PLC0415 - only where verl is

        where = json.dumps(prompt_ids)
        name = next(name for name in self.plan if json.dumps(self.needles[name])[1:-1] in where)
        if name == "tools" and json.dumps(self.needles["weighed"])[1:-1] not in where:
            return TokenOutput(token_ids=self.needles["call"])
        number, self.asked[name] = self.asked[name], self.asked[name] + 1
        tokens = self.plan[name][number % len(self.plan[name])]
        await asyncio.sleep(0.1 * number % 0.4)
        if tokens is None:
            raise RuntimeError("the rollout was lost")
        return TokenOutput(token_ids=tokens)


def tiny_model(folder: Path) -> Any:
    """A tokenizer of single bytes and the configuration of a model that is never built."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: PLC0415 - only where verl is
    from transformers import PreTrainedTokenizerFast, Qwen2Config  # noqa: PLC0415 - likewise

    letters = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<|im_start|>", "<|im_end|>", "<pad>"]
    spelled = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    spelled.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    spelled.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=spelled,
        eos_token="<|im_end|>",  # noqa: S106 - a token of a tokenizer
        pad_token="<pad>",  # noqa: S106 - likewise
        additional_special_tokens=["<|im_start|>"],
    )
    tokenizer.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    tokenizer.save_pretrained(folder)
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    Qwen2Config(
        architectures=["Qwen2ForCausalLM"], vocab_size=len(letters), num_key_value_heads=2, **small
    ).save_pretrained(folder)
    return tokenizer


def configured(model: Path, *overrides: str) -> Any:
    """verl's configuration as its command line makes it."""
    from hydra import compose, initialize_config_module  # noqa: PLC0415 - only where verl is
    from omegaconf import OmegaConf  # noqa: PLC0415 - likewise

    rollout = "actor_rollout_ref.rollout"
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose(
            "ppo_trainer",
            overrides=[
                f"actor_rollout_ref.model.path={model}",
                "+actor_rollout_ref.model.override_config.attn_implementation=eager",
                *(f"{rollout}.name=vllm", f"{rollout}.n=4", f"{rollout}.agent.num_workers=1"),
                *(f"{rollout}.prompt_length=64", f"{rollout}.response_length=256"),
                *("data.train_batch_size=16", "reward.num_workers=1", "algorithm.adv_estimator=grpo"),
                *("transfer_queue.enable=true", "transfer_queue.backend.SimpleStorage.num_data_storage_units=1"),
                *overrides,
            ],
        )
    OmegaConf.resolve(config)
    return config


class Engine:
    """verl's parts around an agent-loop manager: prompts in, groups and advantages out.

    A rollout is known by its prompt and what it says, as in ``plain: worth 30``.
    """

    def __init__(self, config: Any, manager: Any, tokenizer: Any) -> None:
        self.config, self.manager, self.tokenizer = config, manager, tokenizer

    def roll_out(
        self,
        names: Sequence[str],
        *,
        prefix: str,
        partition: str = "train",
        size: int = 4,
        reward_model: Mapping[str, Any] = MappingProxyType({"ground_truth": "the truth"}),
        extra_info: Mapping[str, Any] = MappingProxyType({}),
        step: int = 1,
    ) -> dict[str, Any]:
        """Send prompts the way verl's trainer does and wait: status by prompt, rewards and what goes with them."""
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is
        from verl.utils import tensordict_utils as tu  # noqa: PLC0415 - likewise

        uids = [f"{prefix}-{name}" for name in names]
        batch = tu.get_tensordict(
            {
                "uid": uids,
                "raw_prompt": [[{"role": "user", "content": f"prompt {name}"}] for name in names],
                "agent_name": ["tool_agent" if name == "tools" else "single_turn_agent" for name in names],
                "data_source": ["here"] * len(names),
                "index": list(range(len(names))),
                "reward_model": [dict(reward_model)] * len(names),
                "extra_info": [{"index": number, **extra_info} for number in range(len(names))],
                "__rollout_n__": [size] * len(names),
            }
        )
        tu.assign_non_tensor_data(batch, "global_steps", step)
        if partition == "val":
            tu.assign_non_tensor_data(batch, "validate", True)
        tags = [{"is_prompt": True, "status": "pending", "global_steps": step} for _ in uids]
        tq.kv_batch_put(keys=uids, partition_id=partition, tags=tags)
        self.manager.generate_sequences(batch)
        return self._settled(uids, partition)

    def _settled(self, uids: Sequence[str], partition: str) -> dict[str, Any]:
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is

        for _ in range(600):
            tags = tq.kv_list(partition)[partition]
            status = {uid.split("-")[1]: tags[uid]["status"] for uid in uids}
            if set(status.values()) <= {"finished", "failure"}:
                break
            time.sleep(0.1)
        keys = [key for key in tags if "_" in key and key.split("_")[0] in uids]
        report: dict[str, Any] = {"status": status, "rewards": {}, "info": []}
        if keys:
            data = tq.kv_batch_get(keys=keys, partition_id=partition, select_fields=["rm_scores", "extra_fields"])
            sums = [float(one.sum()) for one in data["rm_scores"]]
            report["rewards"] = dict(zip(self.labels(keys, partition), sums, strict=True))
            report["info"] = [one["reward_extra_info"] for one in list(data["extra_fields"])]
        return report

    def infos(self, keys: Sequence[str], partition: str = "train") -> list[dict[str, float]]:
        """What verl logs with each rollout's reward."""
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is

        data = tq.kv_batch_get(keys=list(keys), partition_id=partition, select_fields=["extra_fields"])
        return [one["reward_extra_info"] for one in list(data["extra_fields"])]

    def labels(self, keys: Sequence[str], partition: str = "train") -> list[str]:
        """What each rollout is known by."""
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is

        told = tq.kv_batch_get(keys=list(keys), partition_id=partition, select_fields=["responses"])["responses"]
        texts = [self.tokenizer.decode(one, skip_special_tokens=True).rpartition("\n")[2] for one in told]
        return [f"{key.split('_')[0].split('-')[1]}: {text}" for key, text in zip(keys, texts, strict=True)]

    def masks(self, keys: Sequence[str]) -> list[Any]:
        """Which tokens of each rollout the policy wrote."""
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is

        return list(
            tq.kv_batch_get(keys=list(keys), partition_id="train", select_fields=["response_mask"])["response_mask"]
        )

    def sampled(
        self, mode: str, count: int, *, refill: Callable[[int], object] | None = None, **settings: Any
    ) -> dict[str, Any]:
        """What verl's replay buffer of this mode makes of the groups that are there."""
        from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer, ReplayBufferAsync  # noqa: PLC0415 - where verl is

        refilled: list[int] = []
        kind = ReplayBuffer if mode == "sync" else ReplayBufferAsync
        buffer = kind(
            trainer_mode=mode,
            trainer_config=self.config.trainer,
            max_off_policy_threshold=None,
            max_off_policy_strategy="drop",
            sampler_kwargs={},
            poll_interval=0.05,
            refill_fn=refill or refilled.append,
            **settings,
        )
        batch, metrics = buffer.sample(global_steps=1, partition_id="train", batch_size=count)
        return {"batch": batch, "refilled": sum(refilled), "metrics": sorted(metrics)}

    def advantages(self, batch: Any, estimator: str) -> dict[str, float]:
        """verl's advantages by rollout: its V1 trainer's own method, on what the agent loop put into TransferQueue."""
        import transfer_queue as tq  # noqa: PLC0415 - only where verl is
        from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync  # noqa: PLC0415 - likewise

        config = self.config.copy()
        config.algorithm.adv_estimator = estimator
        done = PPOTrainerSync._compute_advantage(SimpleNamespace(config=config), batch, {})
        data = tq.kv_batch_get(keys=done.keys, partition_id="train", select_fields=["advantages"])
        firsts = [float(one[0]) for one in data["advantages"]]
        return dict(zip(self.labels(done.keys), firsts, strict=True))


def expected(rewards: Mapping[str, float], masks: Sequence[Any], config: Any, estimator: str) -> dict[str, float]:
    """The advantages of a batch in which only these rollouts ever were, by verl's function of the estimator."""
    import numpy as np  # noqa: PLC0415 - beside torch, which is only where verl is
    import torch  # noqa: PLC0415 - only where verl is
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn  # noqa: PLC0415 - likewise

    mask = torch.nn.utils.rnn.pad_sequence(list(masks), batch_first=True)
    scores = torch.zeros(mask.shape)
    for row, reward in enumerate(rewards.values()):
        scores[row, len(masks[row]) - 1] = reward
    prompts = np.array([label.split(": ")[0] for label in rewards], dtype=object)
    given: dict[str, Any] = {"index": prompts, "config": config.algorithm}
    advantages, _ = get_adv_estimator_fn(estimator)(token_level_rewards=scores, response_mask=mask, **given)
    return {label: float(one) for label, one in zip(rewards, advantages[:, 0], strict=True)}


def recorded_steps(ledger: Path) -> dict[str, list[Any]]:
    """The step and the split of each recorded group, by the first letter of its id."""
    with read_ledger(ledger) as reader:
        found = [result for _, result in recorded_results(reader, 1)]
    return {one["group_id"][0]: [one.get("step"), one.get("split")] for one in found}


def policy(tokenizer: Any) -> Policy:
    """The planned rollouts, in tokens."""
    end = tokenizer.eos_token_id
    spelled = {
        name: [None if text is None else [*tokenizer.encode(text), end] for text in texts]
        for name, texts in PLAN.items()
    }
    needles = {name: tokenizer.encode(f"prompt {name}") for name in PLAN}
    return Policy(spelled, {**needles, "weighed": tokenizer.encode("12 stone"), "call": [*tokenizer.encode(CALL), end]})


def manager_of(config: Any, tokenizer: Any) -> Engine:
    """verl around calipers' agent-loop manager, and nothing that gives rewards besides."""
    from calipers.trainers.verl import AgentLoopManager  # noqa: PLC0415 - only where verl is

    given = {"config": config, "llm_client": policy(tokenizer), "teacher_client": None}
    return Engine(config, AgentLoopManager.create(**given, reward_loop_worker_handles=None), tokenizer)


QUIET = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "VERL_LOGGING_LEVEL": "WARNING",
}
