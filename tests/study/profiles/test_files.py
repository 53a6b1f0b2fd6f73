"""A profile's file: what is written is read again, and everything else is refused with file, line and remedy."""

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError, InputError
from calipers.study.profiles import Figure, Profile, read_profile, write_profile
from calipers.study.profiles.files import parse_profile, profile_as_text
from calipers.study.profiles.profile import (
    Latent,
    Level,
    NoiseAt,
    Positions,
    Preference,
    Provenance,
    Repeatability,
    ScaleUse,
    SourceFile,
    Subject,
)


def made(**changes: object) -> Profile:
    plain = Profile(
        "gpt-x-mini",
        Subject("gpt-x-mini", "pointwise", "base", 1.0),
        Provenance(
            (SourceFile("judgments.jsonl.gz", "ab" * 32),), "2026-11-20", "0.2.0", 40, 320, (1.0, 10.0), (0.0, 1.0)
        ),
        ScaleUse("scores", (Level(0.0, 0.25), Level(1.0, 0.75)), Figure(1.75, 1.7, 1.8, 320, 40)),
        Repeatability(noise=Figure(0.05, 0.04, 0.06, 320, 40), by_temperature=(NoiseAt(1.0, Figure(0.05)),)),
        Positions((Figure(0.1), Figure(-0.1)), slope=Figure(None, reason="one order only")),
        {"length": Preference(Figure(0.02, 0.01, 0.03, 100, 40))},
        latent=Latent(1.2, 0.1, 0.5, 0.0, 0.4, (0.3,), per_unit={"length": 0.1}),
    )
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def test_a_written_profile_is_read_again_as_the_same(tmp_path: Path) -> None:
    write_profile(tmp_path / "p.json", made())
    assert read_profile(tmp_path / "p.json") == made()
    assert profile_as_text(read_profile(tmp_path / "p.json")) == (tmp_path / "p.json").read_text(encoding="utf-8")


@given(
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.text(st.characters(codec="utf-8"), max_size=30),
    st.integers(0, 10**9),
)
def test_any_figure_and_any_name_survive_the_file(value: float, text: str, count: int) -> None:
    figure = Figure(float(f"{value:.6g}"), None, None, count, 1, text)
    assert parse_profile(profile_as_text(made(name=text, injection=figure))) == made(name=text, injection=figure)


def test_a_figure_is_one_line_so_that_people_can_read_the_file() -> None:
    lines = profile_as_text(made()).splitlines()
    assert '    "noise": {"value": 0.05, "low": 0.04, "high": 0.06, "n": 320, "groups": 40},' in lines
    assert max(map(len, lines)) <= 120


def changed(path: str, value: object) -> str:
    """The text of a profile's file with another value at a path, indented so that every key has a line of its own."""
    document = json.loads(profile_as_text(made()))
    *way, last = path.split(".")
    held = document
    for key in way:
        held = held[key]
    held[last] = value
    return json.dumps(document, indent=1)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("nmae", "x", "nmae is an unknown key; did you mean 'name'?"),
        ("subject.temperature", "hot", "subject.temperature must be a finite number, not 'hot'"),
        ("repeatability.noise.n", 2.5, "repeatability.noise.n must be a whole number, not 2.5"),
        ("scale.kind", "stars", "scale.kind is 'stars'; known: 'scores', 'ranks', 'pairs'"),
        ("preferences.smell", {}, "preferences.smell is 'smell'; known: 'length'"),
        ("provenance.scale", [1], "provenance.scale must have 2 entries, not 1"),
        ("scale.levels", [{"score": 1, "share": 1}, {"score": 0, "share": 0}], "scale.levels must have scores that"),
        ("scale.levels", [{"score": 0, "share": 3}, {"score": 1, "share": 0}], "scale.levels must have shares from 0"),
        ("scale.used.value", 0.5, "scale.used.value must be at least 1, not 0.5"),
        ("provenance.answers", -5, "provenance.answers must not be negative, unlike -5"),
        ("provenance.gold_range", [1, 0], "provenance.gold_range must rise, unlike 1 to 0"),
        ("repeatability.noise.value", -1, "repeatability.noise.value must be at least 0, not -1"),
        ("repeatability.noise.low", 0.5, "repeatability.noise.value must be in its own interval (0.5 to 0.06)"),
        ("repeatability.noise.low", None, "repeatability.noise must have a value and both ends of its interval"),
        ("repeatability.noise.n", -5, "repeatability.noise.n must not be negative, unlike -5"),
        ("latent.gain", 1e300, "latent.gain must be at most 1e+06 in size"),
        ("latent.per_unit", {"length": -1e9}, "latent.per_unit must be at most 1e+06 in size"),
        ("latent.call_sd", -1, "latent.call_sd must not be negative: it is a standard deviation"),
        ("latent.thresholds", [], "latent.thresholds must be one fewer than the levels: 1, not 0"),
        ("latent.failures", 2, "latent.failures must be a share from 0 to 1, not 2"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_line(
    tmp_path: Path, path: str, value: object, says: str
) -> None:
    text = changed(path, value)
    file = tmp_path / "p.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_profile(file)
    assert says in str(refused.value)
    assert refused.value.line is not None
    if path.count(".") < 2:
        assert f'"{path.rpartition(".")[2]}"' in text.splitlines()[refused.value.line - 1]
    assert str(refused.value).startswith(f"{file}:{refused.value.line}: ")


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("repeatability.reliability", {"value": 1.5}, "repeatability.reliability.value must be from 0 to 1, not 1.5"),
        ("failures", {"rate": {"value": 1.5}}, "failures.rate.value must be from 0 to 1, not 1.5"),
        ("agreement", {"pearson": {"value": -3}}, "agreement.pearson.value must be from -1 to 1, not -3"),
        ("position", {"slope": {"value": 0.1}}, "position.curve must have a figure for each position"),
    ],
)
def test_an_impossible_figure_is_refused(path: str, value: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse_profile(changed(path, value))


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("", "is not JSON", 1),
        ('{\n"calipers_profile": 1\n"a"}', "is not JSON", 3),
        ("[]", 'is no profile: it lacks "calipers_profile"; write profiles with `calipers profile`', 1),
        ('{"calipers_profile": 2}', '"calipers_profile" is 2; this version of calipers reads 1', 1),
        ('{"calipers_profile": 1}', "the profile lacks 'name'", 1),
        ('{"calipers_profile": 1, "a": 1, "a": 2}', "the key 'a' occurs twice in one object", None),
        ('{"calipers_profile": NaN}', "NaN is no number of JSON", None),
        ("[" * 100_000, "is not readable JSON", None),
    ],
)
def test_what_is_no_profile_is_refused(text: str, says: str, line: int | None) -> None:
    with pytest.raises(InputError) as refused:
        parse_profile(text, source="p.json")
    assert says in str(refused.value)
    assert refused.value.line == line


def test_a_missing_a_huge_and_a_binary_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_profile(tmp_path / "none.json")
    (tmp_path / "huge.json").write_bytes(b" " * (2**20 + 1))
    with pytest.raises(InputError, match="is larger than 1 MB"):
        read_profile(tmp_path / "huge.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_profile(tmp_path / "binary.json")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        write_profile(tmp_path / "no" / "p.json", made())


def test_a_figure_knows_whether_its_interval_holds_a_value() -> None:
    figure = Figure(0.5, 0.4, 0.6)
    assert figure.covers(0.6)
    assert not figure.covers(0.61)
    assert figure.covers(0.61, slack=0.02)
    assert Figure(0.5).covers(0.5)
    assert not Figure(None, reason="no repeats").covers(0.0)
    assert not Figure(None).known
