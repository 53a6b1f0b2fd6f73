"""A comparison's TOML is checked whole before the first question: each problem with file, line and remedy."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from calipers._version import __version__
from calipers.errors import ConfigError
from calipers.study.comparison import compare_study
from calipers.study.comparison.study_file import read_study
from calipers.study.profiles.files import parse_profile, write_profile
from calipers.study.profiles.named import shipped_profile
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


def test_what_a_comparison_is_made_with_is_recorded(tmp_path: Path) -> None:
    profile, rubric = tmp_path / "mine.json", tmp_path / "rubric.txt"
    write_profile(profile, shipped_profile("gpt-5.4-mini"))
    rubric.write_text("Be short.", encoding="utf-8")
    toml = f"""groups = "groups.jsonl"
[judges.file]
model = "profile:{profile}?seed=1"
[judges.shipped]
model = "profile:gpt-5.4-nano"
[judges.made]
[wordings.short]
rubric_file = "rubric.txt"
"""
    study = read_study(comparison_folder(tmp_path, toml))
    compare_study(replace(study, cells=(), texts={}), tmp_path / "out")
    found = json.loads((tmp_path / "out" / "study.json").read_text(encoding="utf-8"))
    assert list(found["profiles"]) == [f"{profile}?seed=1", "gpt-5.4-nano"]
    assert parse_profile(json.dumps(found["profiles"][f"{profile}?seed=1"])) == shipped_profile("gpt-5.4-mini")
    expected = {name: sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("groups.jsonl", "rubric.txt")}
    assert found["files"] == expected
    assert found["versions"]["calipers"] == __version__
    assert (tmp_path / "out" / "comparison.toml").read_text(encoding="utf-8") == toml


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
        (6, "[judges.b]: vice 1: there is no vice 'Nois'. Did you mean Noise?"),
        (6, "[judges.b]: vice 2: Noise has no 'sdd'. "),
        (6, "[judges.b]: vice 3: LengthBias per_doubling=nan: it must be a number from -1e+06 to 1e+06"),
        (7, "[judges.b]: quality=[0.9, 0.1]: the lowest gold comes first"),
        (10, "[judges.c]: with wording 'x': unknown provider 'openrouterr'"),
        (11, "[judges.c]: temperatures=['hot']: it must be a list of numbers"),
        (12, "[judges.c]: there is no wording 'nope'"),
        (13, "[judges.c.options]: unknown option 'orderz'. Did you mean orders?"),
        (13, "[judges.c.options]: options: a comparison cannot set ledger"),
        (16, "nothere.jsonl: there is no such file"),
        (19, "no.toml: there is no such file"),
        (22, "[wordings.y]: rubric=3: it must be a text"),
        (23, "[wordings.y]: options must be a table"),
    )
    for line, problem in expected:
        assert any(f"{config}:{line}: " in one and problem in one for one in said.splitlines()), (line, problem, said)
    assert f"{len(expected)} problems:" in said


def problem_of(tmp_path: Path, text: str) -> str:
    """The one problem of a comparison's file, with its line."""
    config = comparison_folder(tmp_path, text)
    with pytest.raises(ConfigError) as found:
        read_study(config)
    (problem,) = str(found.value).splitlines()
    return problem.removeprefix(f"{config}:")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("wrong_below = 0.5\n[judges.a]", "2: wrong_below changes nothing: confident_wrong is not among rewrites"),
        ("rewrites = []\nrewritten_samples = 3\n[judges.a]", "3: rewritten_samples changes nothing"),
        ("orders = 4\nprotocol = 'pairwise'\n[judges.a]", "2: orders changes nothing: asked so, a group has 2"),
        ("orders = 2\n[judges.a]\noptions = { protocol = 'pointwise' }", "2: orders changes nothing"),
        ("[judges.a]\n\ntemperatures = [0, 1]", "4: [judges.a]: temperatures changes nothing: a simulated judge"),
        ("[judges.a]\nmodel = 'embedded'\nquality = [0, 1]", "4: [judges.a]: quality is for simulated judges"),
        ("[wordings.x]\n[wordings.y]\n[judges.a]\nwordings = ['y']", "2: [wordings]: [wordings.x] changes nothing"),
    ],
)
def test_a_key_that_changes_nothing_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    assert problem_of(tmp_path, f'groups = "groups.jsonl"\n{text}\n').startswith(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("orders = 65\n[judges.a]", "2: orders=65: it must be a whole number from 1 to 64"),
        ("samples = 1000000\n[judges.a]", "2: samples=1000000: it must be a whole number from 1 to 1000"),
        ("temperatures = [0, 1e308]\n[judges.a]", "2: temperatures=[0, 1e+308]: it must be a list of numbers from 0"),
        (
            f"temperatures = {[one / 1000 for one in range(1001)]}\n[judges.a]",
            "3: judges times wordings times temperatures are 1,001 cells; at most 1,000 are asked",
        ),
        ("[judges.a]\n[judges.'b\\n']\nmodel = 'embedded'\nvices = 3", "4: "),
    ],
)
def test_what_multiplies_is_bounded_before_the_first_question(tmp_path: Path, text: str, problem: str) -> None:
    assert problem_of(tmp_path, f'groups = "groups.jsonl"\n{text}\n').startswith(problem)


@pytest.mark.parametrize("name", ["a\\nb", "a\\u001b[31m", "\\u0000", " ", "\\u2028", "x" * 101])
@pytest.mark.parametrize("table", ["judges", "wordings", "own_rewrites"])
def test_a_name_that_would_split_a_table_is_refused(tmp_path: Path, table: str, name: str) -> None:
    more = '\ncolumn = "polite"' if table == "own_rewrites" else ""
    problem = problem_of(tmp_path, f'groups = "groups.jsonl"\n[judges.a]\n[{table}."{name}"]{more}\n')
    assert problem.startswith(f"3: [{table}]: ")
    assert problem.isprintable()


@pytest.mark.parametrize("path", ["a\\u0000b", "a\\nb", "x" * 5000])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('groups = "PATH"\n[judges.a]', 1),
        ('groups = "groups.jsonl"\n[judges.a]\n[wordings.x]\nrubric_file = "PATH"', 4),
        ('groups = "groups.jsonl"\n[judges.a]\n[wordings.x]\nrubric_file = "PATH.toml"', 4),
        ('groups = "groups.jsonl"\n[judges.a]\n[own_rewrites.x]\nfile = "PATH"', 4),
        ('groups = "groups.jsonl"\n[judges.a]\nmodel = "scripted:PATH"', 3),
        ('groups = "groups.jsonl"\n[judges.a]\nmodel = "profile:PATH"', 3),
        ('groups = "groups.jsonl"\n[judges.a]\nmodel = "replay:PATH"', 3),
    ],
)
def test_a_path_that_cannot_be_is_a_sentence(tmp_path: Path, text: str, line: int, path: str) -> None:
    assert problem_of(tmp_path, text.replace("PATH", path)).startswith(f"{line}: ")


def test_a_vice_is_named_with_the_line_and_the_field(tmp_path: Path) -> None:
    text = 'groups = "groups.jsonl"\n[judges.a]\nvices = [\n{ kind = "Inverted" },\n{ kind = "Noise", sd = "a" }]'
    assert problem_of(tmp_path, text) == (
        "5: [judges.a]: vice 2: Noise sd='a': it must be a number from -1e+06 to 1e+06"
    )


def test_what_needs_the_groups_is_not_said_without_them(tmp_path: Path) -> None:
    config = comparison_folder(tmp_path, GOOD.replace("groups.jsonl", "none.jsonl"))
    with pytest.raises(ConfigError) as found:
        read_study(config)
    assert "none.jsonl: there is no such file" in str(found.value)
    assert len(str(found.value).splitlines()) == 1
