"""Parity with Google's checker on its own data: every recorded verdict, and the published table."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from calipers.verifiers.ifeval import check, instruction
from calipers.verifiers.ifeval.report import InstructionCheck, check_response, report
from calipers.verifiers.ifeval.rows import pair, read_prompt, read_response

pytestmark = pytest.mark.data
ROOT = Path(__file__).resolve().parents[3]


def rows(name: str) -> list[dict[str, Any]]:
    folder = Path(os.environ.get("CALIPERS_DATA") or ROOT.parent / "shared" / "data") / "ifeval"
    if not folder.is_dir():
        pytest.skip(f"no recorded data at {folder}; CALIPERS_DATA says where it is")
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def checked() -> list[tuple[InstructionCheck, ...]]:
    pytest.importorskip("langdetect", reason="langdetect is not installed: pip install 'calipers[ifeval]'")
    prompts = [read_prompt(row, line, mode="official") for line, row in enumerate(rows("input_data.jsonl"), start=1)]
    given = rows("input_response_data_gpt4_20231107_145030.jsonl")
    paired = pair(prompts, [read_response(row, line) for line, row in enumerate(given, start=1)])
    assert [asked.line for asked, _ in paired.pairs] == [response.line for _, response in paired.pairs]
    return [check_response(asked, response) for asked, response in paired.pairs]


def test_every_recorded_verdict_is_met_strictly_and_loosely(checked: list[tuple[InstructionCheck, ...]]) -> None:
    golden = rows("golden_gpt4_verdicts.jsonl")
    ours = [check for checks in checked for check in checks]
    assert len(ours) == len(golden) == 834
    for mine, row in zip(ours, golden, strict=True):
        assert (mine.key, mine.index, mine.instruction_id) == (row["key"], row["index"], row["instruction_id"])
        assert (mine.strict.met, mine.loose.met) == (row["strict"], row["loose"]), row
        if not row["stable"]:
            assert mine.literal_strict is row["literal"]


def test_the_published_table_comes_out(checked: list[tuple[InstructionCheck, ...]]) -> None:
    found = report(checked)
    for shares, expected in (
        (found.accuracies, (76.71, 83.45, 79.30, 85.37)),
        (found.literal, (77.08, 83.69, 79.67, 85.61)),
    ):
        printed = [shares.prompt_strict, shares.inst_strict, shares.prompt_loose, shares.inst_loose]
        assert [round(100 * share, 2) for share in printed] == list(expected)


def test_fixed_gives_every_recorded_check_a_verdict_that_is_the_official_one_but_for_mended_faults() -> None:
    pytest.importorskip("langdetect", reason="langdetect is not installed: pip install 'calipers[ifeval]'")
    given = rows("input_response_data_gpt4_20231107_145030.jsonl")
    changed = set()
    for row in rows("golden_gpt4_verdicts.jsonl"):
        verdict = check(row["instruction_id"], row["kwargs"], given[row["response_line"]]["response"], mode="fixed")
        assert verdict.met is not None
        if verdict.met is not row["strict"]:
            changed.add(row["instruction_id"])
    assert changed <= {
        "keywords:existence",
        "keywords:frequency",
        "keywords:letter_frequency",
        "keywords:forbidden_words",
    }


def test_every_kwargs_of_the_data_is_read_also_with_the_null_fields_of_the_hugging_face_copy() -> None:
    pytest.importorskip("langdetect", reason="langdetect is not installed: pip install 'calipers[ifeval]'")
    everything = [fields for row in rows("input_data.jsonl") for fields in row["kwargs"]]
    nulls = dict.fromkeys(name for fields in everything for name in fields)
    for row in rows("input_data.jsonl"):
        for name, fields in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            assert instruction(name, nulls | fields).id == name
