"""The whole loop on a CPU, in seconds: scenarios, first rollouts, the judge, GRPO in TRL, a better policy, a figure.

    python examples/trl_loop.py [FOLDER]

Needs TRL (pip install '.[trl]'), and matplotlib for the figure. No key, no network, no download: the policy is a
one-layer model with random weights that knows about 90 words, the writer of scenarios answers from a script, and the
judge is a few lines that know which words belong to a topic. In earnest these three are names of models; every
other line stays.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import datasets
import torch
import trl
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

import calipers
from calipers.backends.providers.scripted import Scripted
from calipers.scenarios import Options, Scenario, keep, split, write_scenarios
from calipers.scenarios.keeping import Rollouts
from calipers.scenarios.writer import connected_writer
from calipers.trainers.trl import reward_func
from calipers.types import Completion, JudgeRequest

TASK = "names things that belong to a topic"
TOPICS = {
    "sea": ["gull", "tide", "wave", "reef", "kelp", "crab", "sail", "salt", "foam", "cove"],
    "forest": ["moss", "fern", "oak", "pine", "elk", "fox", "bark", "leaf", "root", "owl"],
}
ASKED = {
    "sea": ("name some things of the sea", "what would a diver meet down there in the sea",
            "single words please : sea", "my child draws ships and asks what is missing : sea",
            "a shanty needs words , about the sea", "pack my vocabulary : sea"),
    "forest": ("list what grows or lives in a forest", "we walk tomorrow , look out for what in the forest",
               "whatever comes to mind : forest", "write labels for our map of the forest",
               "how do hunters talk of the forest", "fill this tale with nouns of the forest"),
}  # fmt: skip
GROUP, LENGTH = 8, 6


def writer() -> Scripted:
    """Return what stands for the model that writes scenarios."""
    levels = ("easy", "medium", "hard")
    replies: list[Any] = [{"topics": list(TOPICS)}]
    for topic in TOPICS:
        inputs = [{"difficulty": levels[n % 3], "text": text} for n, text in enumerate(ASKED[topic])]
        replies.append({"inputs": inputs})
    return Scripted([{"text": json.dumps(reply)} for reply in replies])


def fitting(prompt: str, answer: str) -> float:
    """Return the truth: the share of an answer's places filled with different words of the prompt's topic."""
    topic = next(name for name in TOPICS if name in prompt)
    return len(set(answer.split()) & set(TOPICS[topic])) / LENGTH


class WordJudge:
    """Stands for a judge: it scores answers by the truth, up to 10 points off."""

    endpoint = "example"
    model = "words"

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return scores from 0 to 100 for the answers that the question shows."""
        asked = "".join(part for part in request.view.head if isinstance(part, str))
        scores = {}
        for key, place in zip(request.keys, request.ask.order, strict=True):
            answer = "".join(part for part in request.view.candidates[place].body if isinstance(part, str))
            off = hashlib.sha256(answer.encode()).digest()[0] % 21 - 10
            scores[key] = min(max(round(100 * fitting(asked, answer)) + off, 0), 100)
        return Completion(json.dumps({"explanations": {}, "scores": scores}), finish_reason="stop", model=self.model)


def tokenizer() -> Any:
    """Return a tokenizer of whole words: those of the topics, and of the prompts."""
    from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: PLC0415 - comes with transformers

    asked = " ".join(text for texts in ASKED.values() for text in texts).split()
    words = dict.fromkeys(["<eos>", "<pad>", "<unk>", *(word for listed in TOPICS.values() for word in listed), *asked])
    made = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, "<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, model_input_names=["input_ids", "attention_mask"], **special)


def policy(words: int) -> Any:
    """Return a one-layer policy with random weights."""
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=words, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, eos_token_id=0, pad_token_id=1,
    )  # fmt: skip
    return Qwen2ForCausalLM(config)


def rollouts(model: Any, tokens: Any, prompt: str, count: int) -> list[str]:
    """Return ``count`` answers that the policy samples."""
    given = tokens([prompt] * count, return_tensors="pt")
    with torch.no_grad():
        made = model.generate(
            **given, do_sample=True, temperature=1.0, top_k=0, min_new_tokens=LENGTH, max_new_tokens=LENGTH
        )
    return list(tokens.batch_decode(made[:, given["input_ids"].shape[1] :], skip_special_tokens=True))


def measured(model: Any, tokens: Any, scenarios: Sequence[Scenario]) -> float:
    """Return the mean truth of the policy's answers to scenarios."""
    values = [fitting(one.text, answer) for one in scenarios for answer in rollouts(model, tokens, one.text, 16)]
    return sum(values) / len(values)


async def written() -> list[Scenario]:
    """Return the scenarios that the writer writes."""
    by = connected_writer(writer())
    return (await write_scenarios(TASK, by.store, by.backend, Options(12))).scenarios


async def first_rollouts(model: Any, tokens: Any, scenarios: Sequence[Scenario]) -> list[Rollouts]:
    """Return the judge's scores of a group of rollouts of each scenario."""
    groups = [
        {
            "group_id": one.id,
            "context": [{"role": "user", "content": one.text}],
            "trajectories": [
                {"id": str(place), "messages": [{"role": "assistant", "content": answer}]}
                for place, answer in enumerate(rollouts(model, tokens, one.text, GROUP))
            ],
        }
        for one in scenarios
    ]
    found = []
    async for result in calipers.Judge(WordJudge()).score_groups(groups, ordered=True):
        scores = [one.score for one in result.trajectories]
        known = tuple(score for score in scores if score is not None)
        found.append(Rollouts(result.group_id, known, scores.count(None)))
    return found


def trained(model: Any, tokens: Any, scenarios: Sequence[Scenario], folder: Path) -> list[float]:
    """Train the policy by the judge's rewards with TRL's GRPO; return the mean reward of each step."""
    config = trl.GRPOConfig(
        output_dir=str(folder), num_generations=GROUP, per_device_train_batch_size=4 * GROUP, max_steps=60,
        learning_rate=1e-2, lr_scheduler_type="constant", beta=0.0,
        max_completion_length=LENGTH, temperature=1.0, logging_steps=1, seed=7,
        generation_kwargs={"min_new_tokens": LENGTH}, gradient_checkpointing=False,
        save_strategy="no", report_to=[], use_cpu=True, bf16=False, disable_tqdm=True,
    )  # fmt: skip
    runner = trl.GRPOTrainer(
        model=model,
        args=config,
        train_dataset=datasets.Dataset.from_dict({"prompt": [one.text for one in scenarios]}),
        reward_funcs=reward_func(calipers.Judge(WordJudge()), num_generations=GROUP, only_reward=True),
        processing_class=tokens,
    )
    runner.train()
    return [float(entry["reward"]) for entry in runner.state.log_history if "reward" in entry]


def draw(rewards: Sequence[float], before: float, after: float, path: Path) -> bool:
    """Draw the reward of each step, and the truth on validation before and after; False without matplotlib."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra

        mpl.use("Agg")
        from matplotlib import pyplot as plt  # noqa: PLC0415 - likewise
    except ImportError:
        return False
    figure, axes = plt.subplots(figsize=(6, 3.5))
    axes.plot(range(1, len(rewards) + 1), rewards, label="judge's reward, training")
    axes.plot([0, len(rewards)], [before, after], "o", label="truth, validation, before and after")
    axes.set(xlabel="step", ylim=(0, 1))
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return True


def main(folder: str = "trl_loop") -> None:
    """Run the loop, print what came of each part, and write the figure."""
    out = Path(folder)
    out.mkdir(exist_ok=True)
    parts = split(asyncio.run(written()), 0.3)
    tokens = tokenizer()
    model = policy(len(tokens))
    found = keep(asyncio.run(first_rollouts(model, tokens, parts.train)))
    kept = [one for one in parts.train if one.id in found.kept]
    print(f"{len(parts.train)} scenarios for training, of which {len(kept)} are kept; {len(parts.validation)} held out")
    before = measured(model, tokens, parts.validation)
    rewards = trained(model, tokens, kept, out)
    after = measured(model, tokens, parts.validation)
    print(f"truth on held-out scenarios: {before:.2f} before, {after:.2f} after {len(rewards)} steps")
    if draw(rewards, before, after, out / "loop.png"):
        print(f"figure: {out / 'loop.png'}")
    else:
        print("no figure: pip install matplotlib")


if __name__ == "__main__":
    main(*sys.argv[1:2])
