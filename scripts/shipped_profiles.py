"""Write the profiles that come with calipers: ``python scripts/shipped_profiles.py``, with the recorded data at hand.

The data is in the folder that CALIPERS_DATA names, or in ``../shared/data``. ``--only TEXT`` writes the profiles
whose names contain TEXT. ``--table`` writes none, and prints the table of docs/profiles-shipped.md. ``--loop`` writes
none: it lets each profile judge the groups it was fitted to, fits a second profile to its answers, and prints how
many of the first one's figures the second one finds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final
from zlib import crc32

from calipers.calibration.collect import JudgeAnswers
from calipers.calibration.records import Record, as_records
from calipers.calibration.series import Frame
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.study.profiles import Figure, Profile, write_profile
from calipers.study.profiles.comparing import Comparison, compare_profiles
from calipers.study.profiles.fitting import fit_profile
from calipers.study.profiles.judge import ProfileJudge
from calipers.study.profiles.made_groups import made_groups
from calipers.study.profiles.named import shipped_profile
from calipers.study.profiles.sources import choose_key, merged_criteria, read_sources
from calipers.testing import (
    Coarse,
    Injectable,
    LengthBias,
    Noise,
    PositionBias,
    PositionCurve,
    Preference,
    RefusedByLength,
    Severity,
    SimulatedJudge,
    Sycophancy,
    Vice,
)
from calipers.types import TrajectoryGroup

FOLDER: Final = Path(__file__).parents[1] / "src" / "calipers" / "study" / "profiles" / "shipped"
DATA: Final = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).parents[1] / ".." / "shared" / "data")


@dataclass(frozen=True)
class Recorded:
    """A profile of a recorded judge: the data's folder, and which of its answers.

    ``change`` prepares the records, and ``note`` says where the answers come from.
    """

    folder: str
    note: str
    judge: str
    mode: str | None = None
    variant: str | None = None
    temperature: float | None = None
    change: Callable[[list[Record]], list[Record]] = field(default=list)


def pooled(records: Sequence[Record]) -> list[Record]:
    """Answers to one question that were recorded under several names become repeats of it."""
    names = sorted({one.key.prompt_variant or "" for one in records})
    return [
        replace(
            one,
            key=replace(one.key, prompt_variant=None),
            sample=1000 * names.index(one.key.prompt_variant or "") + one.sample,
        )
        for one in records
    ]


RB2: Final = "RewardBench 2 items (4 answers, 1 chosen), scored 1-10: composo-ai/llm-judge-criteria-ensembling (MIT)"
LLMBAR: Final = "LLMBar, pairs with an objectively better answer: princeton-nlp/LLMBar (MIT)"
PANDALM: Final = "PandaLM's pairs with human preferences: WeOpenML/PandaLM (Apache-2.0)"
POSBIAS: Final = "pairs of DevBench and MT-Bench answers in both orders: Slimshilin/Position-Bias-Analyzer (MIT)"
HANNA: Final = "HANNA's stories, mean of six criteria: dig-team/hanna-benchmark-asg (MIT)"
RANKLLM: Final = (
    "rankings of 20 passages of TREC DL 2019 and 2020, in the order of a retriever: castorini/rank_llm (Apache-2.0)"
)
OPENQA: Final = "yes or no with a reference answer, on open questions: ehsk/OpenQA-eval (MIT)"
DEVAI: Final = "requirements met in 55 development tasks: metauto-ai/agent-as-a-judge (MIT)"
TAU2: Final = "pass or fail of airline agents: sierra-research/tau2-bench (MIT)"

RECORDED: Final[Mapping[str, Recorded]] = {
    **{
        f"gpt-5.4{size}{end}": Recorded("rb2_k8", RB2, f"gpt-5.4{size}", "pointwise", variant, temperature)
        for size, end, variant, temperature in (
            ("", "", "base", 1.0),
            ("", "-t0", "base", 0.0),
            ("", "-criteria", "criteria", 1.0),
            ("-mini", "", "base", 1.0),
            ("-mini", "-criteria", "criteria", 1.0),
            ("-nano", "", "base", 1.0),
        )
    },
    **{
        f"llmbar-{name}": Recorded("llmbar", LLMBAR, judge, "pairwise", "Vanilla")
        for name, judge in (
            ("gpt-4", "GPT-4"), ("chatgpt", "ChatGPT"), ("chatgpt-0301", "ChatGPT-0301"), ("llama-2", "LLaMA2"),
        )
    },
    **{
        f"llmbar-{name}-rating": Recorded("llmbar", LLMBAR, judge, "pointwise", "Rating")
        for name, judge in (("gpt-4", "GPT-4"), ("chatgpt", "ChatGPT"))
    },
    "pandalm-gpt-3.5-turbo": Recorded("pandalm", PANDALM, "gpt-3.5-turbo"),
    "pandalm-7b": Recorded("pandalm", PANDALM, "pandalm-7b"),
    **{
        f"posbias-{judge}": Recorded("posbias_repeat", POSBIAS, judge, change=pooled)
        for judge in (
            "claude-3-haiku-20240307", "claude-3-opus-20240229", "claude-3-sonnet-20240229", "gemini-pro",
            "gpt-3.5-turbo-0125", "gpt-3.5-turbo-1106", "gpt-4-0125-preview", "gpt-4-0613", "gpt-4-1106-preview",
        )
    },
    **{
        f"hanna-{judge.lower()}": Recorded("hanna", HANNA, judge, variant="eval1", change=merged_criteria)
        for judge in ("Beluga-13B", "ChatGPT", "Llama-13B", "Mistral-7B", "OrcaPlatypus")
    },
    "rank-vicuna-7b": Recorded("rankllm_listwise", RANKLLM, "rank_vicuna_7b", change=pooled),
    "rank-vicuna-7b-ckpt800": Recorded("rankllm_listwise", RANKLLM, "vicuna-7b-ckpt800", change=pooled),
    "openqa-gpt-4": Recorded("openqa301", OPENQA, "gpt-4"),
    "openqa-davinci-003": Recorded("openqa301", OPENQA, "text-davinci-003"),
    "devai-agent": Recorded("devai", DEVAI, "agent-as-a-judge"),
    "tau2-gpt-4o": Recorded("tau2_airline", TAU2, "gpt-4o-2024-11-20", variant="policy_conversation_v1"),
}  # fmt: skip
"""The recorded judges that have a profile. Left out: judges that are no language model, and 17 answers of one."""


@dataclass(frozen=True)
class Made:
    """A profile of a simulated judge with known ``vices``, asked about made groups."""

    vices: tuple[Vice, ...]
    protocol: str = "listwise"
    attacked: float = 0.0


_NOISE: Final = Noise(0.05)
MADE: Final[Mapping[str, Made]] = {
    "vice-none": Made((Noise(0.01),)),
    "vice-noise": Made((Noise(0.15),)),
    "vice-first": Made((_NOISE, PositionBias(0.2))),
    "vice-last": Made((_NOISE, PositionBias(-0.2))),
    "vice-ends": Made((_NOISE, PositionCurve(first=0.2, last=0.2))),
    "vice-length": Made((_NOISE, LengthBias(0.05))),
    "vice-markdown": Made((_NOISE, Preference("markdown", 0.05))),
    "vice-confidence": Made((_NOISE, Preference("confidence", 0.05))),
    "vice-flattery": Made((_NOISE, Sycophancy(0.1))),
    "vice-injection": Made((_NOISE, Injectable(0.5)), attacked=0.15),
    "vice-coarse": Made((_NOISE, Coarse(5))),
    "vice-mild": Made((_NOISE, Severity(0.2, 0.4))),
    "vice-refusals": Made((_NOISE, RefusedByLength(0.1, 1.0, 8.0)), "pointwise"),
}
"""Simulated judges with one vice each, on a quality from 0.2 to 0.8."""


def recorded_answers(name: str) -> tuple[list[Record], Frame, list[Any], Any]:
    """The records and groups of a recorded judge, the files' digests, and the key of what its profile is fitted to."""
    one = RECORDED[name]
    folder = DATA / one.folder
    read = read_sources([folder / "groups.jsonl.gz", folder / "judgments.jsonl.gz"])
    own = one.change([record for record in read.records if record.key.judge == one.judge])
    variant = None if one.change is pooled else one.variant
    key = choose_key(own, mode=one.mode, prompt_variant=variant, temperature=one.temperature)
    files = [replace(file, name=f"{one.folder}/{file.name}") for file in read.files]
    return own, read.frame(), files, key


async def answers_of(judge: Backend, groups: Iterable[TrajectoryGroup], **options: Any) -> list[Record]:
    """What a judge answers about groups, as records."""
    answers = JudgeAnswers("simulated", options["protocol"])
    asking = Judge.of({"judge": judge, "observer": answers.observe, "concurrency": 64, **options})
    async for result in asking.score_groups(groups):
        answers.record_unanswered(result)
    return list(as_records(answers.judgments))


def made_profile(name: str) -> tuple[Profile, Frame]:
    """The profile of a simulated judge, and the groups that it was asked about."""
    one = MADE[name]
    groups = made_groups(300, attacked=one.attacked)
    gold = {(group.group_id, member.id): member.gold or 0.0 for group in groups for member in group.trajectories}
    judge = SimulatedJudge(lambda group, member: 0.2 + 0.6 * gold[group, member], *one.vices, seed=1)
    options = {"protocol": one.protocol, "orders": 3 if one.protocol == "listwise" else 1, "samples": 2}
    records = asyncio.run(answers_of(judge, groups, **options))
    frame = Frame.of(groups)
    vices = ", ".join(map(repr, one.vices))
    note = f"simulated, to test what uses profiles: calipers.testing.SimulatedJudge with {vices}, on 300 made groups"
    return fit_profile(records, frame, records[0].key, name=name, note=note), frame


def fitted(name: str) -> tuple[Profile, Frame]:
    """A profile, fitted now, and the groups that the judge judged."""
    if name in MADE:
        return made_profile(name)
    records, frame, files, key = recorded_answers(name)
    profile = fit_profile(records, frame, key, name=name, sources=files, note=RECORDED[name].note)
    judged = {record.group_id for record in records if record.key == key}
    return profile, Frame.of(group for group in frame.groups if group.group_id in judged)


def main() -> None:
    """Write the profiles, or loop them."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="profiles whose names contain this text")
    options.add_argument("--table", action="store_true", help="print the table of docs/profiles-shipped.md")
    options.add_argument("--loop", action="store_true", help="let each profile judge, and fit its answers again")
    given = options.parse_args()
    if given.table:
        print(*table(), sep="\n")
        return
    if not DATA.is_dir():
        sys.exit(f"there is no recorded data at {DATA}; name its folder with CALIPERS_DATA")
    names = [name for name in (*RECORDED, *MADE) if given.only in name]
    found: list[Comparison] = []
    for name in names:
        began = time.process_time()
        profile, frame = fitted(name)
        if given.loop:
            found += (looped := loop(profile, frame))
            inside = sum(one.found for one in looped)
            print(f"{name}: {inside} of {len(looped)}", *(str(one) for one in looped if not one.found), sep="\n  ")
        else:
            write_profile(FOLDER / f"{name}.json", profile)
            print(f"{name}: {time.process_time() - began:.1f} s", flush=True)
    if given.loop:
        print(f"all: {sum(one.found for one in found)} of {len(found)} figures found again")


def table() -> list[str]:
    """The table of docs/profiles-shipped.md: a row for each recorded judge, from the profiles as they are."""
    heads = (
        "name",
        "groups, answers",
        "noise",
        "ties",
        "last - first",
        "a doubling of length",
        "J",
        "Somers' D",
        "Pearson",
        "at V/4",
    )
    rows = ["| " + " | ".join(heads) + " |", "|---|" + "---|" * (len(heads) - 1)]
    for name in RECORDED:
        one = shipped_profile(name)
        figures = (
            one.repeatability.noise,
            one.scale.ties,
            one.position.slope,
            one.preferences["length"].per_unit,
            one.agreement.j,
            one.agreement.somers_d,
            one.agreement.pearson,
            one.agreement.pearson_at_quarter_spread,
        )
        size = f"{one.provenance.groups:,}, {one.provenance.answers:,}"
        rows.append("| " + " | ".join([f"`{name}`", size, *map(cell, figures)]) + " |")
    return rows


def cell(figure: Figure) -> str:
    """A figure with half the width of its interval, or a dash where it could not be told."""
    if figure.value is None:
        return "-"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.3f}"
    return f"{figure.value:.3f} ± {(figure.high - figure.low) / 2:.3f}"


def loop(profile: Profile, frame: Frame) -> list[Comparison]:
    """Let a profile judge the groups it was fitted to, as often as it was, and compare a second profile with it."""
    groups = [with_texts(group) for group in frame.groups]
    low, high = profile.provenance.gold_range or (0.0, 1.0)
    latent = profile.latent
    unknown = latent is not None and latent.gain is None
    judge = ProfileJudge(
        profile,
        quality=(lambda group, member: Random(f"{group} {member}").random()) if unknown else "gold",  # noqa: S311 - made data
        low=0.0 if unknown else low,
        high=1.0 if unknown else high,
        agreement=0.7 if unknown else None,
        seed=crc32(profile.name.encode()),  # profiles with a seed in common would err alike
    )
    mode = profile.subject.mode
    repeated = profile.repeatability.noise.known
    shown = profile.repeatability.order_noise.known
    options = {"protocol": mode, "orders": 2 if shown else 1, "samples": 4 if repeated else 1}
    records = asyncio.run(answers_of(judge, groups, **options))
    return compare_profiles(profile, fit_profile(records, Frame.of(groups), records[0].key, name=profile.name))


def with_texts(group: TrajectoryGroup) -> TrajectoryGroup:
    """A group whose answers have a text, made up where the data holds none."""
    written = tuple(
        one
        if one.messages
        else replace(one, messages=({"role": "assistant", "content": f"answer {one.id} of {group.group_id}"},))
        for one in group.trajectories
    )
    return replace(group, trajectories=written)


if __name__ == "__main__":
    main()
