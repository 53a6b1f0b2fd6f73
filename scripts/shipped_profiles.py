"""Write the profiles that come with calipers: ``python -m scripts.shipped_profiles``, with the recorded data at hand.

The data is in the folder that CALIPERS_DATA names, or in ``../shared/data``. ``--failures`` writes none: it
prints how often recorded judges gave no readable verdict on a pair, and how much longer these pairs were.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from calipers.calibration.records import Record, as_records
from calipers.inputs import read_groups
from calipers.study.intervals import estimate
from calipers.study.profiles.measuring import measure_profile
from calipers.study.profiles.profile import Profile, profile_as_text

FOLDER: Final = Path(__file__).parents[1] / "src" / "calipers" / "study" / "profiles" / "shipped"
DATA: Final = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).parents[1] / ".." / "shared" / "data")
RB2: Final = (
    "RewardBench 2 items (4 answers, 1 chosen), scored 1-10 one at a time and without texts, so that position and "
    "length bias are unknown: composo-ai/llm-judge-criteria-ensembling (MIT)"
)
LLMBAR: Final = "LLMBar, pairs with an objectively better answer: princeton-nlp/LLMBar (MIT)"
POSBIAS: Final = "pooled pairs of DevBench and MT-Bench answers in both orders: Slimshilin/Position-Bias-Analyzer (MIT)"
HANNA: Final = "HANNA's stories, their relevance: dig-team/hanna-benchmark-asg (MIT)"
SHIPPED: Final = {
    "gpt-5.4": ("rb2_k8", "gpt-5.4, pointwise, base, t=1", RB2),
    "gpt-5.4-mini": ("rb2_k8", "gpt-5.4-mini, pointwise, base, t=1", RB2),
    "gpt-5.4-nano": ("rb2_k8", "gpt-5.4-nano, pointwise, base, t=1", RB2),
    "hanna-mistral-7b": ("hanna", "Mistral-7B, pointwise, eval1, relevance", HANNA),
    "llmbar-chatgpt-0301": ("llmbar", "ChatGPT-0301, pairwise, Vanilla", LLMBAR),
    "posbias-claude-3-haiku": ("posbias_repeat", "claude-3-haiku-20240307, pairwise", POSBIAS),
    "posbias-claude-3-sonnet": ("posbias_repeat", "claude-3-sonnet-20240229, pairwise", POSBIAS),
    "posbias-gpt-4-0613": ("posbias_repeat", "gpt-4-0613, pairwise", POSBIAS),
}
"""By name: the folder of the data, whose answers and of which kind, and where they come from."""


def measured(name: str) -> Profile:
    """Measure a shipped profile anew."""
    folder, answers_of, note = SHIPPED[name]
    records = as_records(DATA / folder / "judgments.jsonl.gz")
    one_key = [repeats_of_one_question(one) for one in records] if folder == "posbias_repeat" else list(records)
    groups = DATA / folder / "groups.jsonl.gz"
    return measure_profile(str(groups), one_key, answers_of=answers_of, name=name, note=note)


def repeats_of_one_question(record: Record) -> Record:
    """Answers to one question that were recorded under several names are repeats of it."""
    return replace(record, key=replace(record.key, prompt_variant=None), numbered=False, sample=0)


def print_failures() -> None:
    """Print the share of failed answers of each judge, and by how many doublings its failed pairs were longer."""
    for folder in ("llmbar", "pandalm"):
        lengths = {
            (group.group_id, one.id): sum(len(str(message.get("content"))) for message in one.messages)
            for group in read_groups(DATA / folder / "groups.jsonl.gz")
            for one in group.trajectories
        }
        found: dict[str, tuple[list[float], list[float]]] = {}
        with gzip.open(DATA / folder / "judgments.jsonl.gz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                doublings = math.log2(1 + sum(lengths[row["group_id"], name] for name in row["order"]))
                has_verdict = any(value not in (None, {}, []) for value in (row["parsed"] or {}).values())
                found.setdefault(row["judge"], ([], []))[has_verdict].append(doublings)
        for judge, (failed, read) in found.items():
            if failed:
                usual = math.fsum(read) / len(read)
                longer = estimate([one - usual for one in failed])
                rate, width = len(failed) / (len(failed) + len(read)), longer.half_width or math.nan
                print(f"{folder} {judge}: {rate:.2%}, {longer.mean:+.1f} ± {width:.1f} doublings")


def main() -> None:
    """Write the profiles, or print the failures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="profiles whose names contain this text")
    options.add_argument("--failures", action="store_true", help="print how often recorded judges failed")
    given = options.parse_args()
    names = [name for name in SHIPPED if given.only in name]
    if not DATA.is_dir():
        sys.exit(f"there is no recorded data at {DATA}; name its folder with CALIPERS_DATA")
    if given.failures:
        print_failures()
        return
    for name in names:
        (FOLDER / f"{name}.json").write_text(profile_as_text(measured(name)), encoding="utf-8", newline="\n")
        print(name, flush=True)


if __name__ == "__main__":
    main()
