"""RuscaRL's scaffold through TRL's own GRPOTrainer: what is sampled from, what is trained on, and what the judge sees.

The policy notes the tokens it is given; vLLM is a stand-in that speaks as TRL's client of it does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calipers import Judge
from calipers.errors import ConfigError, InputError
from calipers.rubric.scaffold import Schedule, scaffolded
from calipers.trainers.process import installed_version
from calipers.trainers.trl import reward_func, scaffolded_rollouts
from calipers.trainers.trl.scaffold import SINCE
from servers.faulty_server import FaultyServer
from servers.opinions import Opinions, models

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytestmark = pytest.mark.skipif(
    (installed_version("trl") or SINCE) < SINCE, reason="scaffolded rollouts are for TRL 1.16 and later"
)
with_trl = pytest.mark.skipif(find_spec("trl") is None, reason="TRL is not installed (pip install 'calipers[trl]')")

CRITERIA: list[dict[str, Any]] = [
    {"id": f"c{number}", "text": f"w7{number} zebra", "points": float(number)} for number in range(1, 5)
]
EVERYTHING = Schedule(10, step="constant")
PROMPTS = ("one plus one", "two plus two", "red or blue", "up or down")


def rows(prompts: Sequence[Any] = PROMPTS, rubric: Any = CRITERIA) -> list[dict[str, Any]]:
    return [{"prompt": prompt, "rubric": rubric} for prompt in prompts]


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


class Trainer:
    """What of TRL's trainer the rollouts speak to: words for tokens, and completions that are their place in the
    batch.
    """

    def __init__(self, *, number: int = 0, size: int = 4, step: int = 0, training: bool = True, **more: Any) -> None:
        self.num_generations, self.num_generations_eval = size, 2
        self.state = SimpleNamespace(global_step=step)
        self.accelerator = SimpleNamespace(process_index=number)
        self.model = SimpleNamespace(training=training)
        self.asked: list[list[str]] = []
        self.alike: list[int] = []
        self.__dict__.update(more)

    def _tokenize_prompts(self, prompts: list[Any]) -> tuple[list[list[str]], None, dict[str, Any]]:
        texts = [one if isinstance(one, str) else " ".join(part["content"] for part in one) for one in prompts]
        return [text.split() for text in texts], None, {}

    def _generate_single_turn(
        self, prompt_ids: list[list[str]], images: None, fields: dict[str, Any], num_generations: int
    ) -> tuple[list[list[int]], list[list[float]]]:
        assert (images, fields) == (None, {})
        self.asked = prompt_ids
        self.alike.append(num_generations)
        return [[number, number] for number in range(len(prompt_ids))], [[-1.0, -2.0]] * len(prompt_ids)


def shown(tokens: Sequence[str]) -> int:
    return sum(word == "zebra" for word in tokens)


# --- without TRL ----------------------------------------------------------------------------------------------------


def test_the_first_of_a_group_is_shown_all_and_the_last_nothing() -> None:
    rollouts, trainer = scaffolded_rollouts(rows(), schedule=EVERYTHING), Trainer()
    batch = [chat(PROMPTS[0])] * 4 + [chat(PROMPTS[1])] * 4
    given = scaffolded_rollouts(rows([chat(one) for one in PROMPTS]), schedule=EVERYTHING)(batch, trainer)
    assert [shown(tokens) for tokens in trainer.asked] == given["scaffold_shown"] == [4, 3, 1, 0] * 2
    assert given["prompt_ids"] == [PROMPTS[0].split()] * 4 + [PROMPTS[1].split()] * 4
    assert given["completion_ids"] == [[number, number] for number in range(8)]
    text = rollouts([PROMPTS[0]] * 4, trainer)
    assert [shown(tokens) for tokens in trainer.asked] == text["scaffold_shown"] == [4, 3, 1, 0]
    assert trainer.asked[3] == PROMPTS[0].split()
    assert trainer.asked[0][-3:] == PROMPTS[0].split()


def test_places_go_on_over_processes_that_share_a_group() -> None:
    rollouts, second = scaffolded_rollouts(rows(), schedule=EVERYTHING), Trainer(number=1)
    assert rollouts([PROMPTS[0]] * 2, second)["scaffold_shown"] == [1, 0]
    third = Trainer(number=1, size=6)
    assert rollouts([PROMPTS[0]] * 2 + [PROMPTS[1]] * 2, third)["scaffold_shown"][:2] == [1, 0]


def test_the_step_is_the_trainers_and_what_is_drawn_follows_from_the_run() -> None:
    schedule = Schedule(11, step="linear")
    early, late = Trainer(), Trainer(step=5)
    one, two = (scaffolded_rollouts(rows(), schedule=schedule, run=run) for run in ("one", "two"))
    assert one([PROMPTS[0]] * 4, early)["scaffold_shown"] == [4, 3, 1, 0]
    assert one([PROMPTS[0]] * 4, late)["scaffold_shown"] == [2, 1, 1, 0]
    before = list(late.asked)
    one([PROMPTS[0]] * 4, late)
    assert late.asked == before
    drawn = set()
    for _ in range(8):
        two([PROMPTS[0]] * 4, late)
        drawn.add(str(late.asked))
        late.state.global_step += 1
    two([PROMPTS[0]] * 4, Trainer(step=5))
    assert len(drawn) > 1
    plain = [{"role": "user", "content": PROMPTS[0]}]
    made = scaffolded(
        plain, [(c["text"], c["points"]) for c in CRITERIA], schedule=schedule, step=6, place=1, size=4, run="one"
    )
    assert before[0] == " ".join(message["content"] for message in made).split()


def test_sampling_log_probabilities_of_another_prompt_are_unknown_and_those_of_the_same_are_kept() -> None:
    given = scaffolded_rollouts(rows(), schedule=EVERYTHING)([PROMPTS[0]] * 4, Trainer())
    assert given["logprobs"] == [[None, None]] * 3 + [[-1.0, -2.0]]


def test_evaluation_sees_no_scaffold() -> None:
    trainer = Trainer(training=False)
    given = scaffolded_rollouts(rows(), schedule=EVERYTHING)(["never seen"] * 2, trainer)
    assert trainer.asked == given["prompt_ids"] == [["never", "seen"]] * 2
    assert given["logprobs"] == [[-1.0, -2.0]] * 2
    assert given["scaffold_shown"] == [0, 0]
    assert trainer.alike == [2]


def test_each_scaffolded_prompt_is_asked_for_one_completion() -> None:
    """vLLM's server is asked for many completions of the first of a group, and the prompts of a group differ."""
    trainer = Trainer()
    scaffolded_rollouts(rows(), schedule=EVERYTHING)([PROMPTS[0]] * 4, trainer)
    assert trainer.alike == [1]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([{"prompt": "p"}], r"row 1 has no column 'rubric'; its columns are: prompt"),
        ([{"rubric": CRITERIA}], r"row 1 has no column 'prompt'"),
        (rows(rubric="be nice"), r"row 1: its rubric is text, but a scaffold is made of criteria"),
        (rows(rubric=None), r"no row has criteria in 'rubric'"),
        (
            [*rows(), {"prompt": PROMPTS[0], "rubric": CRITERIA[:2]}],
            r"rows 1 and 5 have one prompt but different rubrics",
        ),
    ],
)
def test_rows_that_cannot_be_scaffolded_are_refused(data: list[dict[str, Any]], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        scaffolded_rollouts(data, schedule=EVERYTHING)


def test_criteria_that_cannot_be_read_name_their_row() -> None:
    with pytest.raises(InputError, match=r"row 1: its rubric is neither text nor criteria: "):
        scaffolded_rollouts(rows(rubric=[{"points": 1}]), schedule=EVERYTHING)


def test_rows_without_criteria_are_rolled_out_as_they_are() -> None:
    data = [*rows(PROMPTS[:1]), {"prompt": PROMPTS[1], "rubric": None}]
    given = scaffolded_rollouts(data, schedule=EVERYTHING)([PROMPTS[1]] * 4, Trainer())
    assert given["scaffold_shown"] == [0, 0, 0, 0]
    assert given["logprobs"] == [[-1.0, -2.0]] * 4


@pytest.mark.parametrize(
    ("batch", "trainer", "sentence"),
    [
        (["another"] * 4, Trainer(), "not among the rows of scaffolded_rollouts"),
        ([PROMPTS[0], *[PROMPTS[1]] * 3], Trainer(), "rollouts 1 and 2 of the batch are one group of 4"),
        ([PROMPTS[0]] * 4, Trainer(tools=[print]), "must have no tools"),
        ([PROMPTS[0]] * 4, Trainer(environments=[1]), "no environments"),
        ([PROMPTS[0]] * 4, SimpleNamespace(), "this trainer has no _tokenize_prompts and _generate_single_turn"),
        ([[{"role": "user", "content": [{"type": "image"}]}]] * 4, Trainer(), "prompts of text"),
    ],
)
def test_what_cannot_be_scaffolded_stops_the_run(batch: list[Any], trainer: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        scaffolded_rollouts(rows(), schedule=EVERYTHING)(batch, trainer)


# --- through TRL ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyServer]:
    with FaultyServer() as running:
        models(running, "tiny")
        running.script(Opinions())
        yield running


class Vllm:
    """TRL's client of vLLM as its trainer sees it: every completion is the same, and every log-probability is -3."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[list[int]], int]] = []

    def sync_weights(self) -> None:
        return None

    def generate(
        self, prompts: list[list[int]], images: None, num_generations: int, profiler: object
    ) -> tuple[None, list[list[int]], list[list[list[float]]], None]:
        assert (images, profiler is None) == (None, False)
        self.asked.append((prompts, num_generations))
        return None, [[7, 8, 0] for _ in prompts], [[[-3.0]] * 3 for _ in prompts], None


def watched() -> Any:
    """A policy that notes the prompts it samples from, and what it is trained on."""
    import torch  # noqa: PLC0415 - comes with TRL
    from transformers import Qwen2ForCausalLM  # noqa: PLC0415 - likewise

    from trl_runs import policy  # noqa: PLC0415 - needs TRL

    class Watched(Qwen2ForCausalLM):  # type: ignore[misc]  # transformers is not always there
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.sampled: list[list[int]] = []
            self.trained: list[list[int]] = []
            self.model.register_forward_pre_hook(self.note, with_kwargs=True)

        def generate(self, *args: Any, **given: Any) -> Any:
            self.sampled += unpadded(given["input_ids"])
            return super().generate(*args, **given)

        def note(self, _: Any, args: tuple[Any, ...], given: dict[str, Any]) -> None:
            if torch.is_grad_enabled():
                self.trained += unpadded(args[0] if args else given["input_ids"])

    torch.manual_seed(0)
    return Watched(policy().config)


def unpadded(batch: Any) -> list[list[int]]:
    return [[token for token in row if token != 1] for row in batch.tolist()]


def tokens(messages: Any) -> list[int]:
    from trl_runs import tokenizer  # noqa: PLC0415 - needs TRL

    text = " ".join(message["content"] for message in messages)
    return list(tokenizer()(text)["input_ids"])


def expected(prompt: list[dict[str, str]], place: int, schedule: Schedule) -> list[int]:
    criteria = [(one["text"], one["points"]) for one in CRITERIA]
    return tokens(scaffolded(prompt, criteria, schedule=schedule, step=1, place=place, size=4, run="r"))


@with_trl
@pytest.mark.filterwarnings("ignore")
@pytest.mark.filterwarnings("error:::calipers")
def test_trl_samples_from_the_scaffold_and_trains_and_judges_without_it(server: FaultyServer, tmp_path: Path) -> None:
    from trl_runs import train  # noqa: PLC0415 - needs TRL

    policy, told = watched(), []
    schedule = Schedule(10, step="constant")
    prompts = [chat(one) for one in PROMPTS]

    def told_of(scaffold_shown: list[int], **_: Any) -> list[float]:
        told.extend(scaffold_shown)
        return [0.0] * len(scaffold_shown)

    judge = reward_func(
        Judge("vllm/tiny", base_url=server.url, calls={"attempts": 1}), num_generations=4, rubric_column=None
    )
    begun = len(server.posts)
    run = train(
        [judge, told_of],
        tmp_path,
        conversational=True,
        columns={"rubric": [CRITERIA] * 4},
        made_with={"model": policy, "rollout_func": scaffolded_rollouts(rows(prompts), schedule=schedule, run="r")},
    )
    groups = [policy.sampled[start : start + 4] for start in range(0, 16, 4)]
    for group in groups:
        prompt = next(one for one in prompts if tokens(one) == group[3])
        assert group == [expected(prompt, place, schedule) for place in (1, 2, 3, 4)]
        assert len({*map(tuple, group)}) == 4
    assert told == [4, 3, 1, 0] * 4
    assert len(policy.trained) == 16
    plain = [tokens(one) for one in prompts]
    assert all(row[:3] in plain and len(row) <= 3 + 6 for row in policy.trained)
    asked = [post["messages"] for post in server.posts[begun:]]
    assert len(asked) == 4
    assert not any(word in str(asked) for word in ("zebra", "A good answer", "Answer as if"))
    assert run.metrics["judge/scored"] == [1.0]
    assert any(run.advantages)


@with_trl
@pytest.mark.filterwarnings("ignore")
@pytest.mark.filterwarnings("error:::calipers")
@pytest.mark.parametrize("scaffold", [True, False])
def test_trls_correction_for_vllm_leaves_scaffolded_rollouts_as_they_are(tmp_path: Path, *, scaffold: bool) -> None:
    """Without the scaffold every rollout gets the ratio of its log-probabilities, which is far from 1 here."""
    from trl_runs import train  # noqa: PLC0415 - needs TRL

    vllm = Vllm()

    def speak_to_vllm(trainer: Any) -> None:
        trainer.use_vllm, trainer.vllm_generation, trainer._last_loaded_step = True, vllm, -1

    schedule = Schedule(10, step="constant", group="binary", full=4 if scaffold else 0)
    run = train(
        [lambda completions, **_: [float(number % 4) for number in range(len(completions))]],
        tmp_path,
        made_with={"rollout_func": scaffolded_rollouts(rows(), schedule=schedule)},
        changed=speak_to_vllm,
    )
    ((asked, alike),) = vllm.asked
    assert alike == 1
    ratio = run.metrics["sampling/importance_sampling_ratio/max"]
    if scaffold:
        assert all(len(prompt) > 3 for prompt in asked)
        assert ratio == run.metrics["sampling/importance_sampling_ratio/min"] == [1.0]
    else:
        assert all(len(prompt) == 3 for prompt in asked)
        assert ratio != [1.0]
    assert run.metrics["completions/mean_length"] == [3.0]
