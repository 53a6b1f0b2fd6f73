"""RuscaRL's scaffold in TRL's rollouts: sampled with part of the rubric in the prompt, trained on the prompt without it.

A ``rollout_func`` for GRPOTrainer, which generates by the trainer's own means (transformers or vLLM). TRL is never
imported. Not responsible for how much is shown (``calipers.rubric.scaffold``), nor for the reward: what TRL hands reward
functions are the data set's own prompts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from calipers.errors import ConfigError
from calipers.rubric.scaffold import Criterion, Schedule, points_of, scaffolded
from calipers.trainers.trl import caller as trl_caller
from calipers.trainers.trl.rows import standards_of
from calipers.types import Message

Prompt: TypeAlias = str | Sequence[Message]

SHOWN: Final = "scaffold_shown"
"""The column in which reward functions are told how many criteria each rollout was shown."""

SINCE: Final = (1, 16)
"""The TRL from which on log-probabilities may be unknown."""

_SEAMS: Final = ("_tokenize_prompts", "_generate_single_turn")


def scaffolded_rollouts(
    rows: Iterable[Mapping[str, Any]],
    *,
    schedule: Schedule,
    rubric_column: str = "rubric",
    run: str = "",
    discreet: bool = True,
) -> ScaffoldedRollouts:
    """What ``GRPOTrainer(rollout_func=...)`` takes, for the prompts of ``rows``: its training data set.

    Each row has its ``prompt`` and, in ``rubric_column``, criteria as ``calipers.Rubric`` reads them; rows without any are
    rolled out as they are. ``run`` and ``discreet`` are those of ``calipers.rubric.scaffold.scaffolded``.

    Raises ConfigError for a TRL that cannot do it, a missing column, a prompt that comes with two rubrics, and a rubric that
    is text; InputError for criteria that cannot be read.
    """
    trl = trl_caller.installed()
    if trl is not None and trl < SINCE:
        raise ConfigError(f"TRL {trl[0]}.{trl[1]} is older than scaffolded rollouts are made for: install trl>=1.16")
    return ScaffoldedRollouts(_criteria(rows, rubric_column), schedule=schedule, run=run, discreet=discreet)


class ScaffoldedRollouts:
    """TRL's rollout function: completions sampled from scaffolded prompts, beside the tokens of the prompts without.

    The step is the trainer's, the place that of the rollout among the ``num_generations`` of its prompt, over all processes.
    Evaluation sees no scaffold. Where vLLM tells log-probabilities, those of scaffolded rollouts are of another prompt than
    is trained on, so they are left unknown, and TRL's correction leaves these rollouts as they are.
    """

    def __init__(
        self, criteria: Mapping[str, tuple[Criterion, ...]], *, schedule: Schedule, run: str, discreet: bool
    ) -> None:
        self._criteria, self._schedule = criteria, schedule
        self._run, self._discreet = run, discreet

    def __call__(self, prompts: Sequence[Prompt], trainer: Any) -> dict[str, Any]:
        """TRL's ``prompt_ids``, ``completion_ids`` and ``logprobs``, and ``scaffold_shown`` for reward functions.

        Raises ConfigError for a trainer with tools, environments or images, and for prompts that are not of the rows.
        """
        tokenize, generate = _ways_of(trainer)
        _require_text(prompts)
        training = bool(trainer.model.training)
        plain, *rest = tokenize(list(prompts))
        if training:
            asked, shown = self._asked(prompts, trainer)
            ids, *rest = tokenize(asked)
        else:
            ids, shown = plain, [0] * len(prompts)
        # vLLM's server draws so many from the first of so many neighbours, and in training neighbours differ.
        alike = 1 if training else trainer.num_generations_eval
        completions, logprobs = generate(ids, *rest, alike)
        if logprobs is not None:
            logprobs = [[None] * len(told) if count else told for told, count in zip(logprobs, shown, strict=True)]
        return {"prompt_ids": plain, "completion_ids": completions, "logprobs": logprobs, SHOWN: shown}

    def _asked(self, prompts: Sequence[Prompt], trainer: Any) -> tuple[list[Prompt], list[int]]:
        """What this process's rollouts are sampled from, and how many criteria each is shown."""
        size, step = trainer.num_generations, trainer.state.global_step + 1
        # As TRL puts groups together: neighbours in what all processes have, one after the other.
        begin = trainer.accelerator.process_index * len(prompts)
        asked, shown = [], []
        for number, prompt in enumerate(prompts):
            place = (begin + number) % size + 1
            if number and place > 1 and prompt != prompts[number - 1]:
                raise ConfigError(
                    f"rollouts {number} and {number + 1} of the batch are one group of {size} and have different prompts: "
                    "this trainer does not lay out groups as TRL 1.16 does"
                )
            criteria = self._of(prompt)
            asked.append(self._scaffolded(prompt, criteria, step=step, place=place, size=size))
            shown.append(self._schedule.count(step, place, size, len(criteria)))
        return asked, shown

    def _of(self, prompt: Prompt) -> tuple[Criterion, ...]:
        try:
            return self._criteria[_key(prompt)]
        except KeyError:
            raise ConfigError(
                "a prompt of the batch is not among the rows that scaffolded_rollouts was given: give it the trainer's "
                f"train_dataset. It begins {json.dumps(prompt, default=str)[:80]}"
            ) from None

    def _scaffolded(self, prompt: Prompt, criteria: Sequence[Criterion], *, step: int, place: int, size: int) -> Prompt:
        """In a prompt of plain text the scaffold is its first paragraphs."""
        text = isinstance(prompt, str)
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        made = scaffolded(
            messages,
            criteria,
            schedule=self._schedule,
            step=step,
            place=place,
            size=size,
            run=self._run,
            discreet=self._discreet,
        )
        return "\n\n".join(one["content"] for one in made) if text else [dict(message) for message in made]


def _ways_of(trainer: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """How the trainer tokenizes and generates. ConfigError where later turns would have to see the scaffold, too."""
    ways = tuple(getattr(trainer, name, None) for name in _SEAMS)
    if not (callable(ways[0]) and callable(ways[1])):
        raise ConfigError(
            f"this trainer has no {' and '.join(_SEAMS)}: scaffolded rollouts are for TRL 1.16's GRPOTrainer"
        )
    if getattr(trainer, "tools", None) or getattr(trainer, "environments", None):
        raise ConfigError("scaffolded rollouts are of one turn: the trainer must have no tools and no environments")
    return ways[0], ways[1]


def _require_text(prompts: Sequence[Prompt]) -> None:
    parts = [message.get("content") for prompt in prompts if not isinstance(prompt, str) for message in prompt]
    if not all(isinstance(part, str) for part in parts):
        raise ConfigError(
            "scaffolded rollouts take prompts of text: this batch has messages with images or other parts"
        )


def _criteria(rows: Iterable[Mapping[str, Any]], column: str) -> dict[str, tuple[Criterion, ...]]:
    """The criteria of each prompt, by the prompt's key."""
    found: dict[str, tuple[Criterion, ...]] = {}
    first: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        for name in ("prompt", column):
            if name not in row:
                raise ConfigError(f"row {number} has no column {name!r}; its columns are: {', '.join(row)}")
        rubric = standards_of(row[column], f"row {number}: its {column}")
        if isinstance(rubric, str):
            raise ConfigError(
                f"row {number}: its {column} is text, and a scaffold is made of criteria (docs/rubrics.md)"
            )
        criteria = () if rubric is None else points_of(rubric)
        key = _key(row["prompt"])
        if found.setdefault(key, criteria) != criteria:
            raise ConfigError(f"rows {first[key]} and {number} have one prompt and two rubrics: merge the two")
        first.setdefault(key, number)
    if not any(found.values()):
        raise ConfigError(f"no row has criteria in {column!r}, so there is nothing to show")
    return found


def _key(prompt: Prompt) -> str:
    text = json.dumps(prompt, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
