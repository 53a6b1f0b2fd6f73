"""IFEval: agreement with the official checker's recorded verdicts, and how many checks a second.

Run ``python -m benchmarks.reading.ifeval`` with the recorded data beside the repository or at CALIPERS_DATA, and
langdetect installed. Every one of the 834 recorded verdicts is compared, strict and loose. Exit code 1 for a
disagreement.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from benchmarks.environment import recorded_data
from calipers.verifiers.ifeval.rows import check_response, pair, read_prompt, read_response, report


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of one of the recorded files."""
    return [json.loads(line) for line in (recorded_data() / "ifeval" / name).read_text(encoding="utf-8").splitlines()]


def main() -> int:
    """Print what was found."""
    if not (recorded_data() / "ifeval").is_dir():
        print("no recorded data: set CALIPERS_DATA to where it is")
        return 0
    prompts = [read_prompt(row, line) for line, row in enumerate(rows("input_data.jsonl"), start=1)]
    recorded = rows("input_response_data_gpt4_20231107_145030.jsonl")
    responses = [read_response(row, line) for line, row in enumerate(recorded, start=1)]
    start = time.perf_counter()
    checked = [check_response(prompt, response) for prompt, response in pair(prompts, responses).pairs]
    seconds = time.perf_counter() - start
    ours = [(a.met, b.met) for one in checked for _, a, b in one]
    golden = rows("golden_gpt4_verdicts.jsonl")
    # Two checks are drawn at random by the official code, which the file records as null; these count literally.
    theirs = [(row["strict"], row["loose"]) if row["stable"] else (row["literal"],) * 2 for row in golden]
    differ = sum(one != other for one, other in zip(ours, theirs, strict=True))
    print(f"recorded verdicts: {len(theirs)}, disagreements: {differ}; {len(ours) / seconds:,.0f} checks/s")
    print({name: value for name, value in report(checked).items() if name != "by_type"})
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
