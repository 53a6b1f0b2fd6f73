"""A comparison's TOML is checked whole before the first question: each problem with file, line and remedy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from calipers.errors import ConfigError
from calipers.study.comparison.study_file import read_study
from calipers.types import TrajectoryGroup
from compared_groups import compared_groups, comparison_folder

GOOD = """
groups = "groups.jsonl"
temperatures = [0, 0.7]

[judges.a]

[judges.b]
model = "embedded"
temperatures = []
wordings = ["short"]

[wordings.short]
rubric = "Be short."

[wordings.long]
rubric = "Be long."

[own_rewrites.polite]
column = "polite"
"""


def test_a_matrix_has_a_cell_for_each_judge_wording_and_temperature(tmp_path: Path) -> None:
    study = read_study(comparison_folder(tmp_path, GOOD))
    assert [str(cell) for cell in study.cells] == [
        "a, short, T=0",
        "a, short, T=0.7",
        "a, long, T=0",
        "a, long, T=0.7",
        "b, short",
    ]
    assert set(study.texts) == {"verbose", "sycophantic", "confident", "formatted", "polite"}
    assert len(study.texts["polite"]) == 48


def test_all_problems_are_listed_with_their_lines(tmp_path: Path) -> None:
    config = comparison_folder(
        tmp_path,
        'groups = "groups.jsonl"\nsampels = 2\nrewrites = ["verbos"]\norders = 0\n\n[judges.a]\nmodl = "x/y"\n'
        'temperatures = ["hot"]\nwordings = ["none"]\n\n[own_rewrites.verbose]\ncolumn = "x"\n',
    )
    with pytest.raises(ConfigError) as found:
        read_study(config)
    said = str(found.value)
    for line, problem in (
        (2, "unknown key 'sampels'. Did you mean samples?"),
        (3, "there is no rewrite 'verbos'. Did you mean verbose?"),
        (4, "orders=0"),
        (7, "[judges.a]: unknown key 'modl'. Did you mean model?"),
        (8, "temperatures=['hot']: it must be a list of numbers"),
        (9, "there is no wording 'none'"),
        (11, "a rewrite of calipers has this name"),
    ):
        assert any(f"compare.toml:{line}: " in one and problem in one for one in said.splitlines()), problem


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"groups.jsonl"', '"none.jsonl"', "there is no such file"),
        ("[judges.a]", '[judges.a]\nvices = [{ kind = "Noize" }]', "there is no vice 'Noize'. Did you mean Noise?"),
        ("[judges.a]", "[judges.a]\noptions = { orders = 3 }", "a comparison cannot set orders"),
        ("[judges.a]", "[judges.a]\noptions = { ordes = 3 }", "unknown option 'ordes'"),
        ("[judges.a]", "[judges.a]\noptions = { params = { temperature = 1 } }", "leave one out"),
        ("[judges.a]", "[judges.a]\nquality = [0.2]", "it must be two numbers from 0 to 1"),
        ("[judges.a]", '[judges.a]\nmodel = "embedded"\nvices = []', "not both"),
        ("[judges.a]", '[judges.a]\nmodel = "no-such-provider/x"', "with wording 'short': "),
        ("temperatures = [0, 0.7]", "temperatures = [0, 0]", "names something twice"),
        ("temperatures = [0, 0.7]", "judges = 3", "it must be a table"),
        ('rubric = "Be short."', 'rubric_file = "none.txt"', "cannot be read"),
        ('column = "polite"', "", "needs a file or a column"),
        ('column = "polite"', 'column = "rude"', "no trajectory of the groups has metadata 'rude'"),
        ("groups =", "groups = =", "not valid TOML"),
    ],
)
def test_what_cannot_be_asked_is_refused(tmp_path: Path, old: str, new: str, problem: str) -> None:
    toml = GOOD.replace(old, new, 1) if new != "judges = 3" else 'groups = "groups.jsonl"\njudges = 3'
    config = comparison_folder(tmp_path, toml)
    with pytest.raises(ConfigError) as found:
        read_study(config)
    assert problem in str(found.value)
    assert "compare.toml" in str(found.value)


def test_confident_wrong_needs_gold_that_differs(tmp_path: Path) -> None:
    config = comparison_folder(
        tmp_path,
        'groups = "groups.jsonl"\nrewrites = ["confident_wrong"]\n[judges.a]\nmodel = "embedded"',
        [_without_gold(group) for group in compared_groups()],
    )
    with pytest.raises(ConfigError, match="confident_wrong needs answers with gold of two values"):
        read_study(config)


def test_a_simulated_judge_needs_gold(tmp_path: Path) -> None:
    groups = [_without_gold(group) for group in compared_groups()]
    config = comparison_folder(tmp_path, 'groups = "groups.jsonl"\n[judges.a]', groups)
    with pytest.raises(ConfigError, match="no trajectory has gold"):
        read_study(config)


def test_groups_with_one_answer_are_left_out_and_told(tmp_path: Path) -> None:
    alone = compared_groups(1, 1)[0]
    groups = [*compared_groups(3), _renamed(alone, "alone")]
    study = read_study(comparison_folder(tmp_path, 'groups = "groups.jsonl"\n[judges.a]', groups))
    assert len(study.groups) == 3
    assert study.notes == ("1 of 4 groups have fewer than two answers: left out",)


def test_groups_without_two_answers_are_refused(tmp_path: Path) -> None:
    config = comparison_folder(tmp_path, 'groups = "groups.jsonl"\n[judges.a]', compared_groups(2, 1))
    with pytest.raises(ConfigError, match=r"compare.toml:1: no group of groups.jsonl has two answers"):
        read_study(config)


def _renamed(group: TrajectoryGroup, name: str) -> TrajectoryGroup:
    return TrajectoryGroup(name, group.trajectories, group.context)


def _without_gold(group: TrajectoryGroup) -> TrajectoryGroup:

    return replace(group, trajectories=tuple(replace(one, gold=None) for one in group.trajectories))


FAULTS = """\
groups = "groups.jsonl"
rewrites = ["verbos"]
options = { ties = "x" }

[judges.b]
vices = [{ kind = "Nois" }, { kind = "Noise", sdd = 1 }, { kind = "LengthBias", per_doubling = nan }]
quality = [0.9, 0.1]

[judges.c]
model = "openrouterr/foo"
temperatures = ["hot"]
wordings = ["x", "nope"]
options = { orderz = 3, ledger = "x" }

[own_rewrites.mine]
file = "nothere.jsonl"

[wordings.x]
rubric_file = "no.toml"

[wordings.y]
rubric = 3
options = 4
"""


def test_many_faults_are_one_list_with_nothing_that_follows_from_them(tmp_path: Path) -> None:
    config = comparison_folder(tmp_path, FAULTS)
    with pytest.raises(ConfigError) as found:
        read_study(config)
    said = str(found.value)
    expected = (
        (2, "there is no rewrite 'verbos'. Did you mean verbose?"),
        (3, "ties='x'"),
        (6, "[judges.b]: vice 1: there is no vice 'Nois'. Did you mean Noise?; vice 2: Noise has no 'sdd'. "),
        (6, "; vice 3: LengthBias per_doubling must be a finite number, not nan"),
        (7, "[judges.b]: quality=[0.9, 0.1]: the lowest gold comes first"),
        (10, "[judges.c]: with wording 'x': unknown provider 'openrouterr'"),
        (11, "[judges.c]: temperatures=['hot']: it must be a list of numbers"),
        (12, "[judges.c]: there is no wording 'nope'"),
        (13, "[judges.c.options]: unknown option 'orderz'. Did you mean orders?"),
        (13, "[judges.c.options]: options: a comparison cannot set ledger"),
        (15, "nothere.jsonl: there is no such file"),
        (19, "no.toml: there is no such file"),
        (22, "[wordings.y]: rubric=3: it must be a text"),
        (23, "[wordings.y]: options must be a table"),
    )
    for line, problem in expected:
        assert any(f"{config}:{line}: " in one and problem in one for one in said.splitlines()), (line, problem, said)
    assert f"{len(expected) - 1} problems:" in said


def test_what_needs_the_groups_is_not_said_without_them(tmp_path: Path) -> None:
    config = comparison_folder(tmp_path, GOOD.replace("groups.jsonl", "none.jsonl"))
    with pytest.raises(ConfigError) as found:
        read_study(config)
    assert "none.jsonl: there is no such file" in str(found.value)
    assert len(str(found.value).splitlines()) == 1
