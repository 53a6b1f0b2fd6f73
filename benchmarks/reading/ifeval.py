"""IFEval: agreement with the official checker's recorded verdicts, the accuracies, and how many checks a second.

Run ``python -m benchmarks.reading.ifeval`` with the recorded data beside the repository or at CALIPERS_DATA, and
langdetect installed. Every one of the 834 recorded verdicts is compared, strict and loose; then every instruction is
checked on every response (451,194 checks), with languages detected before the clock starts.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from benchmarks.environment import recorded_data
from calipers.verifiers.ifeval import Instruction, instruction
from calipers.verifiers.ifeval.language import detected
from calipers.verifiers.ifeval.punkt import parameters
from calipers.verifiers.ifeval.report import check_response, report
from calipers.verifiers.ifeval.rows import pair, read_prompt, read_response

ROUNDS = 3


def data() -> Path:
    """The folder of recorded data; it may not exist."""
    return recorded_data() / "ifeval"


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of one of the recorded files."""
    return [json.loads(line) for line in (data() / name).read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Print what was found."""
    if not data().is_dir():
        print(f"no recorded data at {data()}: set CALIPERS_DATA to where it is")
        return
    prompts = [read_prompt(row, line, mode="official") for line, row in enumerate(rows("input_data.jsonl"), start=1)]
    recorded = rows("input_response_data_gpt4_20231107_145030.jsonl")
    responses = [read_response(row, line) for line, row in enumerate(recorded, start=1)]
    print(f"sentences by: {parameters().name}")
    checked = [check_response(prompt, response) for prompt, response in pair(prompts, responses).pairs]
    ours = [(check.strict.met, check.loose.met) for checks in checked for check in checks]
    theirs = [(row["strict"], row["loose"]) for row in rows("golden_gpt4_verdicts.jsonl")]
    print(f"recorded verdicts: {len(theirs)}, disagreements: {sum(a != b for a, b in zip(ours, theirs, strict=True))}")
    found = report(checked)
    for name, shares in (("random checks False", found.accuracies), ("counted literally", found.literal)):
        print(f"{name}: {shares}")
    texts = [response.text for response in responses]
    for text in texts:
        detected(text)
    speed([asked for prompt in prompts for asked in prompt.instructions], texts)
    golden = rows("input_data.jsonl")
    start = time.perf_counter()
    for row in golden:
        for name, kwargs in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            instruction(name, kwargs)
    print(f"building: {834 / (time.perf_counter() - start):,.0f} instructions/s")


def speed(instructions: list[Instruction], texts: list[str]) -> None:
    """Checks a second: those of the data as they come, every instruction on every response, and the slowest kinds."""
    own = [(asked, texts[place % len(texts)]) for place, asked in enumerate(instructions)]
    best = min(_timed(own) for _ in range(ROUNDS))
    print(f"one response each: {len(own) / best:,.0f} checks/s")
    spent: defaultdict[str, float] = defaultdict(float)
    asked_of: Counter[str] = Counter()
    for asked in instructions:
        spent[asked.id] += _timed([(asked, text) for text in texts])
        asked_of[asked.id] += len(texts)
    print(f"all on all: {asked_of.total() / sum(spent.values()):,.0f} checks/s over {asked_of.total():,}")
    for name, seconds in sorted(spent.items(), key=lambda pair: pair[1] / asked_of[pair[0]], reverse=True)[:3]:
        print(f"  {name}: {asked_of[name] / seconds:,.0f} checks/s")


def _timed(checks: list[tuple[Instruction, str]]) -> float:
    start = time.perf_counter()
    for asked, text in checks:
        asked.strict(text)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
