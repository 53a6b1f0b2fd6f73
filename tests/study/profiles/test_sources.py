"""What profiles are fitted from: files by their content, ledgers, and which of several judges."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import calipers
from calipers.calibration.records import Key, Record
from calipers.errors import ConfigError, InputError
from calipers.study.profiles.fitting import fit_profile
from calipers.study.profiles.made_groups import made_groups
from calipers.study.profiles.sources import Sources, choose_key, described_key, merged_criteria, read_sources
from calipers.testing import Flaky, Noise, SimulatedJudge
from calipers.types import TrajectoryGroup

GROUP = {
    "group_id": "g",
    "trajectories": [{"id": "a", "messages": [], "gold": 1}, {"id": "b", "messages": [], "gold": 0}],
}
SAID = {"group_id": "g", "judge": "j", "order": ["a", "b"], "parsed": {"scores": {"a": 4, "b": 2}}, "scale": [1, 5]}


def written(path: Path, *rows: object) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def test_a_file_is_known_by_its_content_whatever_its_name(tmp_path: Path) -> None:
    first, second = written(tmp_path / "one.txt", SAID), written(tmp_path / "two.gz", GROUP)
    found = read_sources([first, second])
    assert [group.group_id for group in found.groups] == ["g"]
    assert [record.scores for record in found.records] == [{"a": 4.0, "b": 2.0}]
    assert [file.name for file in found.files] == ["one.txt", "two.gz"]
    assert found.files[0].sha256 == hashlib.sha256(first.read_bytes()).hexdigest()


def test_of_groups_with_one_id_the_first_counts(tmp_path: Path) -> None:
    other = {**GROUP, "trajectories": [{"id": "c", "messages": []}]}
    files = written(tmp_path / "g", GROUP), written(tmp_path / "h", other), written(tmp_path / "s", SAID)
    found = read_sources(files)
    assert len(found.groups) == 2
    assert list(found.frame().columns[0]) == ["a", "b"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"id": 1}], "is neither a groups file ('trajectories'), nor a judgments file"),
        ([[1]], "nor a ledger (the line is a list"),
        ([], "the file is empty"),
    ],
)
def test_a_file_of_another_kind_is_named_with_its_first_line(tmp_path: Path, rows: list[object], says: str) -> None:
    path = written(tmp_path / "x", *rows)
    with pytest.raises(InputError) as refused:
        read_sources([path])
    assert says in str(refused.value)
    assert str(refused.value).startswith(f"{path}:1: ")


def test_groups_and_answers_must_both_be_named(tmp_path: Path) -> None:
    groups, said = written(tmp_path / "g", GROUP), written(tmp_path / "s", SAID)
    with pytest.raises(InputError, match="no answers were named; add a judgments file"):
        read_sources([groups])
    with pytest.raises(InputError, match="no groups were named; add the groups file"):
        read_sources([said])
    with pytest.raises(InputError, match="there is no such file"):
        read_sources([tmp_path / "none"])


def test_a_bad_line_is_reported_with_its_number_and_skipped(tmp_path: Path) -> None:
    said = written(tmp_path / "s", SAID, {**SAID, "order": []})
    problems: list[InputError] = []
    found = read_sources([written(tmp_path / "g", GROUP), said], on_error=problems.append)
    assert len(found.records) == 1
    assert [(one.source, one.line) for one in problems] == [(str(said), 2)]
    with pytest.raises(InputError, match="'order' must list"):
        read_sources([tmp_path / "g", said])


def test_replies_in_a_known_format_are_read(tmp_path: Path) -> None:
    raw = {"group_id": "g", "judge": "j", "order": ["a", "b"], "raw_text": "Hm. [[A]]"}
    found = read_sources([written(tmp_path / "g", GROUP), written(tmp_path / "s", raw)], format="mt_bench")
    assert found.records[0].winner == "a"


def test_an_answer_that_is_recorded_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    groups, said = written(tmp_path / "g", GROUP), written(tmp_path / "s", SAID, {**SAID, "sample_index": 1}, SAID)
    problems: list[InputError] = []
    with pytest.raises(
        InputError, match=r"answers the question of line 1 again.*number repeats.*'sample_index'"
    ) as one:
        read_sources([groups, said], on_error=problems.append)
    assert (one.value.source, one.value.line, problems) == (str(said), 3, [])
    copy, first = written(tmp_path / "copy", SAID), written(tmp_path / "first", SAID)
    with pytest.raises(InputError, match=f"answers the question of {first}:1 again"):
        read_sources([groups, first, copy])


def test_a_file_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    groups, said = written(tmp_path / "g", GROUP), written(tmp_path / "s", SAID)
    with pytest.raises(InputError, match="the file is named twice"):
        read_sources([groups, said, tmp_path / "." / "s"])


def test_answers_about_rewritten_groups_are_not_those_about_the_groups(tmp_path: Path) -> None:
    groups, said = written(tmp_path / "g", GROUP), written(tmp_path / "s", {**SAID, "rewrite": "x", "rewritten": ["a"]})
    with pytest.raises(InputError, match="has answers about rewritten groups"):
        read_sources([groups, said])


# --- ledgers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["listwise", "pairwise", "pointwise"])
async def test_a_ledger_holds_groups_and_answers(tmp_path: Path, protocol: str) -> None:
    groups = made_groups(25, 4)
    gold = {(group.group_id, one.id): one.gold or 0.0 for group in groups for one in group.trajectories}
    judge = SimulatedJudge(lambda group, member: gold[group, member], Noise(0.1))
    options = {"judge": judge, "protocol": protocol, "orders": 2, "ledger": str(tmp_path / "l.db")}
    asked = calipers.Judge.of({**options, "params": {"temperature": 0.5}})
    async for _ in asked.score_groups(groups):
        pass
    asked.close()
    found = await _in_thread(tmp_path / "l.db")
    assert {group.group_id for group in found.groups} == {group.group_id for group in groups}
    (key,) = {one.key for one in found.records}
    assert (key.mode, key.temperature) == (protocol, 0.5)
    profile = fit_profile(found.records, found.frame(), key)
    assert profile.provenance.groups == 25
    assert (profile.agreement.pearson.value or 0) > 0.7


async def _in_thread(path: Path) -> Sources:
    return await asyncio.to_thread(read_sources, [path])


async def _ask(tmp_path: Path, groups: list[TrajectoryGroup], **options: object) -> None:
    judge = SimulatedJudge(lambda _, member: int(member) / 8, Noise(0.1))
    asked = calipers.Judge.of({"judge": judge, "ledger": str(tmp_path / "l.db"), **options})
    async for _ in asked.score_groups(groups):
        pass
    asked.close()


async def test_all_runs_of_a_ledger_are_read_and_each_answer_once(tmp_path: Path) -> None:
    groups = made_groups(5, 4)
    await _ask(tmp_path, groups[:3])
    await _ask(tmp_path, groups, samples=2)  # the first three groups' first answers are in the ledger
    found = await _in_thread(tmp_path / "l.db")
    assert [group.group_id for group in found.groups] == [group.group_id for group in groups]
    places = [(record.group_id, record.order, record.sample) for record in found.records]
    assert len(places) == len(set(places)) == 10
    assert len({record.key for record in found.records}) == 1
    alone = await asyncio.to_thread(read_sources, [tmp_path / "l.db"], run=1)
    assert len(alone.records) == 3


async def test_prompts_of_a_ledger_are_told_apart_by_the_run_that_asked_first(tmp_path: Path) -> None:
    groups = made_groups(3, 4)
    for rubric in ("Be strict.", "Be kind.", "Be strict."):
        await _ask(tmp_path, groups, rubric=rubric)
    found = await _in_thread(tmp_path / "l.db")
    assert Counter(record.key.prompt_variant for record in found.records) == {"run 1": 3, "run 2": 3}
    with pytest.raises(ConfigError, match="several judges and kinds of questions are recorded"):
        choose_key(found.records)


async def test_other_answers_under_the_same_id_are_refused_with_what_to_name(tmp_path: Path) -> None:
    groups = made_groups(2, 4)
    first, *others = groups[0].trajectories
    other = replace(first, messages=({"role": "assistant", "content": "other"},))
    changed = replace(groups[0], trajectories=(other, *others))
    await _ask(tmp_path, groups)
    await _ask(tmp_path, [changed])
    with pytest.raises(ConfigError, match=r"runs 1 and 2 asked about different answers under the group id.*--run"):
        await _in_thread(tmp_path / "l.db")
    assert len((await asyncio.to_thread(read_sources, [tmp_path / "l.db"], run=2)).records) == 1


async def test_a_group_without_an_answer_counts_once_and_only_if_no_run_answered(tmp_path: Path) -> None:
    groups = made_groups(2, 4)
    silent = SimulatedJudge({str(number): 0.5 for number in range(4)}, Flaky(refused=1.0))
    for _ in range(2):
        await _ask(tmp_path, groups, judge=silent)
    found = await _in_thread(tmp_path / "l.db")
    assert all(record.scores is None for record in found.records)
    assert len({(record.group_id, record.order, record.sample) for record in found.records}) == len(found.records)


async def test_a_ledger_of_verdicts_on_criteria_is_refused(tmp_path: Path) -> None:
    rubric = calipers.rubric.as_rubric({"criteria": [{"id": "a", "text": "Right."}]})
    quality = dict.fromkeys("0123", 0.9)
    options = {"judge": SimulatedJudge(quality), "protocol": "checklist", "rubric": rubric}
    asked = calipers.Judge.of({**options, "ledger": str(tmp_path / "l.db")})
    await asked.score_group(made_groups(1, 4)[0])
    asked.close()
    with pytest.raises(ConfigError, match="its run has verdicts on criteria; a profile is fitted to scores"):
        await _in_thread(tmp_path / "l.db")


# --- one of several --------------------------------------------------------------------------------------------------

KEYS = [
    Key("a", "pointwise", "base", 0.0, None),
    Key("a", "pointwise", "base", 1.0, None),
    Key("a", "pairwise", None, None, None),
    Key("b", "pointwise", "base", None, "style"),
]
RECORDS = [Record("g", key, ("x", "y"), 0) for key in KEYS]


def test_filters_choose_one_kind_of_answers() -> None:
    assert choose_key(RECORDS, judge="b") == KEYS[3]
    assert choose_key(RECORDS, mode="pairwise") == KEYS[2]
    assert choose_key(RECORDS, temperature=0.0) == KEYS[0]
    assert choose_key(RECORDS[:1]) == KEYS[0]


def test_several_or_none_are_listed_with_the_flags_that_choose() -> None:
    with pytest.raises(ConfigError) as several:
        choose_key(RECORDS, judge="a")
    text = str(several.value)
    assert "choose one with --answers-of, --mode, --prompt-variant, --temperature or --criterion:" in text
    assert "\n  a, pointwise, prompt variant base, temperature 1" in text
    assert "\n  b" not in text
    with pytest.raises(ConfigError, match="no answer fits --answers-of c;") as none:
        choose_key(RECORDS, judge="c")
    assert "b, pointwise, prompt variant base, criterion style" in str(none.value)
    many = [Record("g", Key(f"j{number:02}", "pointwise", None, None, None), ("x",), 0) for number in range(20)]
    with pytest.raises(ConfigError, match="and 8 more"):
        choose_key(many)
    assert described_key(KEYS[3]) == "b, pointwise, prompt variant base, criterion style"


def test_criteria_are_averaged_where_all_have_a_score() -> None:
    key = Key("j", "pointwise", "p", None, None)
    said = {"c1": {"x": 1.0, "y": 3.0}, "c2": {"x": 5.0}, "c3": {"x": 3.0, "y": 5.0}}
    records = [
        Record("g", replace(key, criterion=name), ("x", "y"), 0, scores=scores, scale=(1.0, 5.0))
        for name, scores in said.items()
    ]
    lone = Record("h", replace(key, criterion="c1"), ("x", "y"), 0, scores={"x": 1.0}, scale=(1.0, 5.0))
    whole, partial = merged_criteria([*records, lone])
    assert whole.key == key
    assert dict(whole.scores or {}) == pytest.approx({"x": 0.5})
    assert whole.scale == (0.0, 1.0)
    assert partial.scores is None
