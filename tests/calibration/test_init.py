"""``calibrate``: files in, one report out, and findings."""

import gzip
import json
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from statistics import correlation, fmean
from typing import Any

import numpy as np
import pytest

from calipers.calibration import Calibration, calibrate
from calipers.calibration.measures import smallest_shown
from calipers.errors import ConfigError, InputError
from judged import compared, gold_of, group, groups, rated, record

GROUPS = groups(40)
DATA = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


def written(folder: Path, name: str, lines: list[dict[str, Any]]) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    return path


def test_the_report_is_json_without_nan_and_has_a_point_for_each_number_of_calls():
    found = calibrate(GROUPS, list(rated(GROUPS, "a", 0.5, calls=4)))
    report = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert {"answer", "judges", "differences", "ways", "search", "recommendation", "findings"} == report.keys()
    (judge,) = report["judges"]
    assert {"judge", "mode", "prompt_variant", "temperature", "advantage_fidelity", "groups", "cost"} <= judge.keys()
    assert [point["calls"] for point in judge["by_calls"]] == [1, 2, 3, 4]


def test_groups_in_memory_are_read_as_a_file_of_them_is(tmp_path: Path):
    records = [*rated(GROUPS, "a", 0.5, calls=2), *rated(GROUPS, "b", 1.0, calls=2)]
    whole = calibrate(GROUPS, records)
    there = calibrate(written(tmp_path, "g.jsonl.gz", GROUPS), written(tmp_path, "j.jsonl.gz", records))
    assert there.to_dict() == whole.to_dict()
    found = calibrate([*GROUPS, 3, GROUPS[0]], iter(records))
    assert [str(one)[:9] for one in found.problems] == ["<list>:41", "<list>:42"]
    assert found.to_dict()["judges"] == whole.to_dict()["judges"]
    assert pickle.loads(pickle.dumps(whole)) == whole  # noqa: S301 - written here
    with pytest.raises(InputError, match="takes a path, a list"):
        calibrate(None, records)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="judgments are a file or a list of objects, not null"):
        calibrate(GROUPS, None)  # type: ignore[arg-type]


@pytest.mark.heavy
def test_groups_and_judgments_may_be_data_frames():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    records = list(rated(GROUPS, "a", 0.5, calls=2))
    nested = calibrate(pd.DataFrame(GROUPS), pd.DataFrame(records))
    texts = calibrate(GROUPS, pd.DataFrame([one | {"parsed": json.dumps(one["parsed"])} for one in records]))
    assert nested.to_dict() == texts.to_dict() == calibrate(GROUPS, records).to_dict()


def test_limits_that_cannot_be_meant_are_refused():
    limits: tuple[Any, ...] = ({"token": 20000}, {"tokens": -1}, 20000)
    for limit in limits:
        with pytest.raises(ConfigError, match="it must be a mapping of usd, tokens, shown, calls"):
            calibrate(GROUPS, [], per_group=limit)


def test_nothing_to_measure_is_a_report_too_and_a_missing_file_is_not(tmp_path: Path):
    report = calibrate(GROUPS, []).to_dict()
    assert (report["judges"], report["ways"]) == ([], [])
    json.dumps(report, allow_nan=False)
    with pytest.raises(InputError):
        calibrate(tmp_path / "none.jsonl", [])
    with pytest.raises(InputError, match="too large"):
        calibrate([group(5, {"a": 1e200, "b": 0.0})], [])


@pytest.mark.data
def test_recorded_judges_have_the_fidelity_a_plain_loop_finds():
    """``first`` is one call's; and, without any of the package's own arithmetic, that of all calls."""
    cases = (
        ("rb2_k8", "gpt-5.4-nano", "base", 0.500), ("openqa301", "gpt-4", "reference_yes_no", 0.630),
        ("devai", "agent-as-a-judge", "per_requirement", 0.915), ("pandalm", "gpt-3.5-turbo", "pandalm", 0.599),
    )  # fmt: skip
    for name, judge, variant, first in cases:
        if not (DATA / name).is_dir():
            pytest.skip(f"no recorded data at {DATA}: set CALIPERS_DATA to where it is")
        found = calibrate(DATA / name / "groups.jsonl.gz", DATA / name / "judgments.jsonl.gz")
        (one,) = (one for one in found.judges if (one.judge, one.prompt_variant) == (judge, variant))
        assert one.by_calls[0].advantage_fidelity == pytest.approx(first, abs=0.0006)
        assert one.advantage_fidelity == pytest.approx(_plainly(DATA / name, judge, variant), abs=1e-6)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def _plainly(folder: Path, judge: str, variant: str) -> float:
    said = dict[str, dict[str, list[float]]]()
    for one in _lines(folder / "judgments.jsonl.gz"):
        if (one["judge"], one["prompt_variant"]) == (judge, variant):
            scores = one["parsed"].get("scores") or {}
            if winner := one["parsed"].get("winner"):
                scores = {name: 0.5 if winner == "tie" else float(name == winner) for name in one["order"]}
            for name, value in scores.items():
                if value is not None:
                    said.setdefault(one["group_id"], {}).setdefault(name, []).append(value)
    found = []
    for asked in _lines(folder / "groups.jsonl.gz"):
        mine = said.get(asked["group_id"], {})
        known = [(fmean(mine[one["id"]]), one["gold"]) for one in asked["trajectories"] if one["id"] in mine]
        if len({gold for _, gold in known}) > 1:
            scores, golds = zip(*known, strict=True)
            found.append(correlation(scores, golds) if max(scores) - min(scores) > 1e-9 else 0.0)
    return fmean(found)


# --- a finding for everything a figure alone would hide ---------------------------------------------------------------

SIXTY = groups(60)


def kinds(*records: dict[str, Any], of: list[dict[str, Any]] = SIXTY) -> dict[str, str]:
    found: Calibration = calibrate(of, records)
    return {str(one.kind): one.text for one in found.findings}


def scored(score: Callable[[float], float], of: list[dict[str, Any]] = SIXTY) -> list[dict[str, Any]]:
    """A judge that makes a score of a member's gold."""
    return [record(one, "j", {"scores": {name: score(gold) for name, gold in gold_of(one).items()}}) for one in of]


def test_a_sound_calibration_has_no_findings():
    assert kinds(*rated(SIXTY, "j", 0.5, calls=4)) == {}


def test_fewer_than_thirty_groups_say_what_they_cannot_show():
    for count, calls, words in (
        (20, 4, ("20 groups", "known to ±")),
        (5, 1, ("5 groups with gold: fewer than 30",)),
    ):
        few = SIXTY[:count]
        text = kinds(*rated(few, "j", 0.5, calls=calls), of=few)["few_groups"]
        assert [one for one in words if one not in text] == []


def test_judgments_and_gold_that_are_not_used_are_counted():
    found = kinds(*rated(SIXTY, "j", 0.5), of=SIXTY[:50])
    assert found["foreign_groups"].startswith("10 judgments are about 10 groups")
    odd = [*SIXTY, group(900, {"a": 1.0, "b": 1.0}), group(901, {"a": 1.0, "b": None, "c": 0.0})]
    found = kinds(*rated(SIXTY, "j", 0.5), of=odd)
    assert found["missing_gold"].startswith("in 1 group ")
    assert found["equal_gold"].startswith("in 1 group ")
    assert "no_gold" in kinds(of=[group(1, {"a": None, "b": None})])
    assert "nothing to measure" in kinds(*rated(groups(70)[60:], "j", 0.5))["no_judgments"]
    found = kinds({"judge": "j"}, record(SIXTY[0], "j", {"scores": {"zz": 1}}, order=["a", "zz"]))
    assert found["unknown_members"].startswith("1 id in judgments is not in the group")


def test_a_constant_judge_and_one_that_runs_against_gold_are_called_so():
    assert {"constant_judge", "no_repeats"} == kinds(*scored(lambda _: 1)).keys()
    mostly = [*scored(float, SIXTY[:5]), *scored(lambda _: 1, SIXTY[5:])]
    assert kinds(*mostly)["constant_judge"].startswith("in 55 of 60 groups")
    assert "better members get lower scores" in kinds(*scored(lambda gold: -gold))["against_gold"]


def test_a_judge_at_chance_is_named_with_the_rule_that_it_seems_to_follow():
    generator = np.random.default_rng(1)
    rule = {one["group_id"]: generator.permutation(4) for one in SIXTY}

    def said(score: Callable[[str, int], float]) -> list[dict[str, Any]]:
        return [
            record(one, "j", {"scores": {name: score(one["group_id"], place) for place, name in enumerate("abcd")}},
                   sample_index=sample)
            for one in SIXTY for sample in range(2)
        ]  # fmt: skip

    cases: dict[str, Callable[[str, int], float]] = {
        "its scores are random": lambda _, __: generator.normal(),
        "a fixed rule": lambda group, place: float(rule[group][place]),
    }
    for words, score in cases.items():
        text = kinds(*said(score))["chance"]
        assert words in text
        assert "60 groups show a fidelity of 0." in text
    assert "a fixed rule" in kinds(*scored(lambda gold: -gold), *(one | {"sample_index": 1} for one in
                                   scored(lambda gold: -gold)))["against_gold"]  # fmt: skip


def test_each_rival_that_is_too_close_has_its_own_groups_and_difference():
    said = [*rated(SIXTY, "a", 1.0), *rated(SIXTY, "b", 1.05), *rated(SIXTY[:35], "c", 1.3)]
    found = calibrate(SIXTY, said)
    (text,) = (one.text for one in found.findings if one.kind == "too_few_to_tell")
    unclear = [pair for pair in found.differences[:2] if not pair.is_clear]
    stated = re.findall(r"(\w) \(.*?\), where (\d+) groups show a difference of ([\d.]+)", text)
    expected = [(pair.other, str(pair.groups), f"{smallest_shown(pair.interval):.2g}") for pair in unclear]
    assert stated == expected
    assert {groups for _, groups, _ in stated} == {"35", "60"}
    assert "35 groups" not in found.to_dict()["answer"]
    low, high = unclear[0].interval or (0.0, 0.0)
    assert smallest_shown((low, high)) == pytest.approx(1.43 * (high - low) / 2, rel=0.1)
    assert "too_few_to_tell" not in kinds(*rated(SIXTY, "a", 0.3), *rated(SIXTY, "b", 3.0))


def test_lists_scored_by_place_or_shown_in_one_order_are_called_so():
    by_place = [
        record(one, "j", {"scores": {name: -place for place, name in enumerate(order)}}, mode="listwise",
               order=[*order], sample_index=sample)
        for one in SIXTY for sample, order in enumerate(("abcd", "dcab"))
    ]  # fmt: skip
    found = kinds(*by_place)
    assert "explains 100%" in found["one_position"]
    assert "unless" not in found["one_position"]
    assert "one_position" not in kinds(*by_place[:4])
    assert "random" not in found["chance"]
    assert "one_order" not in found
    once = kinds(*(line for line in by_place if line["sample_index"] == 0))
    assert "no group was listed in a second order" in once["one_order"]
    assert "unless" in once["one_position"]
    pairs = list(compared(SIXTY[:5], "j", bias=100.0, noise=0.1))
    assert "one_position" in kinds(*pairs, of=SIXTY[:5])
    forwards = [line for line in pairs if line["order"] == sorted(line["order"])]
    assert "one_order" in kinds(*forwards, of=SIXTY[:5])
    assert "one_position" not in kinds(*pairs[:4], of=SIXTY[:5])


def test_failures_and_groups_with_too_few_scores_are_counted():
    found = kinds(*(record(one, "j", {"scores": {"a": 1.0}}) for one in SIXTY))
    assert found["failures"].startswith("75.0%")
    assert found["missing_groups"].startswith("no score in 60 of 60 groups")


def test_errors_that_are_not_honest_are_named():
    """Calls that copy one another claim an accuracy they do not have, once another half differs."""
    said = []
    for n, one in enumerate(SIXTY):
        for sample in range(4):
            shift = (1 if sample < 2 else -1) * (1 if n % 2 else -1)
            scores = {name: value + shift * (name == "a") + 0.05 * (sample % 2) * (name == "b")
                      for name, value in gold_of(one).items()}  # fmt: skip
            said.append(record(one, "j", {"scores": scores}, sample_index=sample, temperature=1.0))
    assert "standard errors are too small" in kinds(*said)["dishonest_errors"]
