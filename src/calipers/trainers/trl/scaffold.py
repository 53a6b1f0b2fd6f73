"""RuscaRL's scaffold in TRL's rollouts: sample with part of the rubric in the prompt, train on the prompt without it.

The module makes a ``rollout_func`` for GRPOTrainer, which generates with the trainer's own engine (transformers or
vLLM). TRL is never imported, and passes reward functions the data set's own prompts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from calipers.errors import ConfigError
from calipers.rubric.scaffold import Criterion, Schedule, scaffolded, texts_and_points
from calipers.trainers.process import installed_version
from calipers.trainers.trl.rows import rubric_from_column
from calipers.types import Message

Prompt: TypeAlias = str | Sequence[Message]

SHOWN: Final = "scaffold_shown"
"""The column, passed to reward functions, with the number of criteria in each rollout's prompt."""

SINCE: Final = (1, 16)
"""The first TRL in which log-probabilities may be unknown."""

_METHODS: Final = ("_tokenize_prompts", "_generate_single_turn")


def scaffolded_rollouts(
    rows: Iterable[Mapping[str, Any]],
    *,
    schedule: Schedule,
    rubric_column: str = "rubric",
    run: str = "",
    discreet: bool = True,
) -> ScaffoldedRollouts:
    """Return the function for TRL's ``GRPOTrainer(rollout_func=...)``; ``rows`` are its training data set.

    Each row has a ``prompt`` and, in ``rubric_column``, criteria as ``calipers.Rubric`` reads them; prompts of rows
    without criteria are not changed. ``run`` and ``discreet`` are those of ``calipers.rubric.scaffold.scaffolded``.
    Raises ConfigError for a TRL that is too old, a missing column, a prompt with two different rubrics, and a rubric
    that is text; InputError for criteria that cannot be read.
    """
    trl = installed_version("trl")
    if trl is not None and trl < SINCE:
        raise ConfigError(f"TRL {trl[0]}.{trl[1]} is too old for scaffolded rollouts: install trl>=1.16")
    criteria = _criteria(rows, rubric_column)
    return ScaffoldedRollouts(criteria, schedule=schedule, run=run, discreet=discreet)


class ScaffoldedRollouts:
    """TRL's rollout function: samples from scaffolded prompts, and returns the tokens of the prompts without scaffold.

    The schedule counts the trainer's steps, and the place of a rollout among the ``num_generations`` of its prompt,
    over all processes. Evaluation has no scaffold. If vLLM reports log-probabilities, those of scaffolded rollouts
    belong to another prompt than is trained on. So they are set to unknown, and TRL's correction does not change these
    rollouts.
    """

    def __init__(
        self,
        criteria: Mapping[str, tuple[Criterion, ...]],
        *,
        schedule: Schedule,
        run: str,
        discreet: bool,
    ) -> None:
        self._criteria, self._schedule = criteria, schedule
        self._run, self._discreet = run, discreet

    def __call__(self, prompts: Sequence[Prompt], trainer: Any) -> dict[str, Any]:
        """Return TRL's ``prompt_ids``, ``completion_ids`` and ``logprobs``, and ``scaffold_shown`` for reward
        functions.

        Raises ConfigError for a trainer with tools, environments or images, and for prompts that are not of the rows.
        """
        tokenize, generate = _methods_of(trainer)
        _require_text(prompts)
        training = bool(trainer.model.training)
        plain, *rest = tokenize(list(prompts))
        if training:
            asked, shown = self._asked(prompts, trainer)
            ids, *rest = tokenize(asked)
        else:
            ids, shown = plain, [0] * len(prompts)
        # vLLM's server samples this many neighbouring rollouts from the prompt of the first. In training their prompts
        # differ, so the number is 1.
        same_prompt = 1 if training else trainer.num_generations_eval
        completions, logprobs = generate(ids, *rest, same_prompt)
        if logprobs is not None:
            logprobs = [[None] * len(known) if count else known for known, count in zip(logprobs, shown, strict=True)]
        return {"prompt_ids": plain, "completion_ids": completions, "logprobs": logprobs, SHOWN: shown}

    def _asked(self, prompts: Sequence[Prompt], trainer: Any) -> tuple[list[Prompt], list[int]]:
        """Return the prompts that this process's rollouts are sampled from, and the number of criteria in each."""
        size, step = trainer.num_generations, trainer.state.global_step + 1
        # TRL forms groups like this: neighbours in the concatenated batches of all processes.
        begin = trainer.accelerator.process_index * len(prompts)
        asked, shown = [], []
        for number, prompt in enumerate(prompts):
            place = (begin + number) % size + 1
            if number and place > 1 and prompt != prompts[number - 1]:
                raise ConfigError(
                    f"rollouts {number} and {number + 1} of the batch are one group of {size}, but have different "
                    "prompts: this trainer does not order groups as TRL 1.16 does"
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
                "a prompt of the batch is not among the rows of scaffolded_rollouts, which must be the trainer's "
                f"train_dataset. It begins {json.dumps(prompt, default=str)[:80]}"
            ) from None

    def _scaffolded(self, prompt: Prompt, criteria: Sequence[Criterion], *, step: int, place: int, size: int) -> Prompt:
        """Return the prompt with its scaffold. In a plain-text prompt, the scaffold becomes the first paragraphs."""
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


def _methods_of(trainer: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the trainer's methods to tokenize and generate.

    Raises ConfigError if later turns would need the scaffold, too.
    """
    tokenize, generate = (getattr(trainer, name, None) for name in _METHODS)
    if not (callable(tokenize) and callable(generate)):
        raise ConfigError(
            f"this trainer has no {' and '.join(_METHODS)}: scaffolded rollouts are for TRL 1.16's GRPOTrainer"
        )
    if getattr(trainer, "tools", None) or getattr(trainer, "environments", None):
        raise ConfigError("scaffolded rollouts have one turn: the trainer must have no tools and no environments")
    return tokenize, generate


def _require_text(prompts: Sequence[Prompt]) -> None:
    parts = [message.get("content") for prompt in prompts if not isinstance(prompt, str) for message in prompt]
    if not all(isinstance(part, str) for part in parts):
        raise ConfigError(
            "scaffolded rollouts need prompts of text: this batch has messages with images or other parts"
        )


def _criteria(rows: Iterable[Mapping[str, Any]], column: str) -> dict[str, tuple[Criterion, ...]]:
    """Return the criteria of each prompt, by the prompt's key."""
    found: dict[str, tuple[Criterion, ...]] = {}
    first: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        for name in ("prompt", column):
            if name not in row:
                raise ConfigError(f"row {number} has no column {name!r}; its columns are: {', '.join(row)}")
        rubric = rubric_from_column(row[column], f"row {number}: its {column}")
        if isinstance(rubric, str):
            raise ConfigError(
                f"row {number}: its {column} is text, but a scaffold is made of criteria (docs/rubrics.md)"
            )
        criteria = () if rubric is None else texts_and_points(rubric)
        key = _key(row["prompt"])
        if found.setdefault(key, criteria) != criteria:
            raise ConfigError(f"rows {first[key]} and {number} have one prompt but different rubrics: merge them")
        first.setdefault(key, number)
    if not any(found.values()):
        raise ConfigError(f"no row has criteria in {column!r}, so there is no scaffold")
    return found


def _key(prompt: Prompt) -> str:
    text = json.dumps(prompt, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
