"""A judge of the embedded form: few weights whose signs are fixed, made of gold alone, the same bytes each time."""

import json
from pathlib import Path

import pytest

import calipers
from calipers.backends.embedded.features import FEATURES
from calipers.distilling import distill
from calipers.distilling.groups import training_group
from calipers.distilling.pairs import make_pairs
from calipers.distilling.signed import PRIOR, VOTES, fit_signed
from calipers.errors import ConfigError, InputError
from calipers.types.encoding import to_json_text
from distilled import groups_of, recorded_run, rewards_of

NAMED = ("model.json", "card.md", "card.json")


def gold_file(path: Path, count: int = 14) -> Path:
    path.write_text("".join(to_json_text(one.to_dict()) + "\n" for one in groups_of(count)), encoding="utf-8")
    return path


def test_groups_with_gold_are_enough_and_equal_groups_give_equal_bytes(tmp_path: Path) -> None:
    gold = gold_file(tmp_path / "gold.jsonl")
    made = [
        distill(gold, out=tmp_path / name, form="embedded", learn_from="gold", name="mine", version=3) for name in "ab"
    ]
    assert [one.title for one in made] == ["mine-3", "mine-3"]
    assert made[0].judge == f"embedded:{tmp_path / 'a'}"
    for name in NAMED:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert made[0].figures["teachers"] == ["gold"]
    assert made[0].figures["agreement"]["teacher"]["interval"][0] > 0.3  # gold is coverage, one of its features
    assert "It learned from gold alone" in (tmp_path / "a" / "card.md").read_text()
    assert "standard error" not in json.loads((tmp_path / "a" / "card.json").read_text())


def test_it_judges_by_name_and_its_answers_are_those_of_its_file(tmp_path: Path) -> None:
    gold = gold_file(tmp_path / "gold.jsonl")
    made = distill(gold, out=tmp_path / "judge", form="embedded", learn_from="gold")
    result = rewards_of(made.judge, groups_of(1)[0])
    assert result.status == "scored"
    with_file = calipers.Judge(made.judge)
    stored = json.loads((tmp_path / "judge" / "model.json").read_text())
    (tmp_path / "judge" / "model.json").write_text(json.dumps(stored | {"offset": stored["offset"] + 1}))
    changed = calipers.Judge(made.judge)
    assert rewards_of(changed, groups_of(1)[0]).rewards < rewards_of(with_file, groups_of(1)[0]).rewards


def test_a_ledger_teaches_it_as_well_and_a_local_judge_takes_its_place(tmp_path: Path) -> None:
    ledger = recorded_run(tmp_path / "run.db", groups_of(14))
    local = distill(ledger, out=tmp_path / "judge")
    assert (local.folder / "training.npz").exists()
    made = distill(ledger, out=tmp_path / "judge", form="embedded", train_attacks=True)
    assert not (made.folder / "training.npz").exists()
    assert made.figures["agreement"]["teacher"]["value"] > 0.3
    with pytest.raises(ConfigError, match="holds a judge of the embedded form; its name is embedded:"):
        calipers.Judge(f"local:{tmp_path / 'judge'}")
    assert distill(ledger, out=tmp_path / "judge").judge.startswith("local:")
    with pytest.raises(ConfigError, match="a judge of another form is named local:"):
        calipers.Judge(f"embedded:{tmp_path / 'judge'}")


def test_no_groups_turn_a_weight_against_its_prior_and_many_alike_count_no_more_than_some() -> None:
    """Gold is the opposite of what the prior expects: coverage of the task ends at 0 and not below."""
    against = [
        training_group(one, [1 - (each.gold or 0) for each in one.trajectories], [None] * 4) for one in groups_of(100)
    ]
    few, many = fit_signed(against[:30], "teacher"), fit_signed(against * 3, "teacher")
    assert all(weight * PRIOR[name] >= 0 for name, weight in zip(FEATURES, many.weights, strict=True))
    coverage = FEATURES.index("coverage")
    assert few.weights[coverage] < PRIOR["coverage"]
    once = fit_signed(against, "teacher")
    assert make_pairs(against, "teacher").weights.sum() > VOTES
    assert once.weights == many.weights


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"update": True}, "leave --update out"),
        ({"model": "bert"}, "leave --model out"),
        ({"version": 0}, "--version 0: must be 1 or more"),
        ({"form": "tree"}, "must be one of local, embedded"),
        ({"form": "local", "version": 2}, "--version is for --form embedded"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path: Path, options: dict[str, object], problem: str) -> None:
    gold = gold_file(tmp_path / "gold.jsonl", 12)
    with pytest.raises(ConfigError, match=problem):
        distill(gold, out=tmp_path / "judge", **({"form": "embedded", "learn_from": "gold"} | options))  # type: ignore[arg-type]  # wrong on purpose


def test_groups_whose_gold_does_not_differ_are_counted(tmp_path: Path) -> None:
    groups = "".join(to_json_text(one.to_dict()) + "\n" for one in groups_of(12, gold=False))
    (tmp_path / "none.jsonl").write_text(groups)
    with pytest.raises(InputError, match="12 whose gold does not differ"):
        distill(tmp_path / "none.jsonl", out=tmp_path / "judge", learn_from="gold")
