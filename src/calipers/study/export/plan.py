"""The plan of a study on a cluster: every run with its slot, and every judge with its server.

Pure. Not responsible for whether the plan can work (``problems``) or for files (``writing``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from calipers.backends.names import split_judge_name
from calipers.backends.providers.known import ALIASES, PROVIDERS
from calipers.study.export.data_sets import data_sets
from calipers.study.export.layout import Layout, lay_out
from calipers.study.export.run_settings import Run
from calipers.study.export.study_file import ClusterStudy
from calipers.study.export.watching import is_audited, watch_settings

BASE: Final = "base"
"""The name under which the untrained policy is evaluated."""
IFEVAL: Final = "ifeval"
"""IFEval among the data sets to evaluate: its own file of prompts, checked by code."""

_SERVED_BY: Final = "vllm"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is trained and evaluated on a cluster, where and in which order: runs of the same judge one after another.

    ``keys`` are the environment variables with keys that the node needs.
    """

    study: ClusterStudy
    layout: Layout
    runs: tuple[Run, ...]
    keys: tuple[str, ...]

    @property
    def rubric_sets(self) -> list[str]:
        """The data sets whose rubric scores are in the plan's result table."""
        return [name for name in self.study.settings.evaluate if name != IFEVAL]

    @property
    def data_files(self) -> list[tuple[str, str]]:
        """The data sets to prepare for the plan, with the form of their rows."""
        trained = [(self.study.settings.data, recipe.form) for recipe in self.study.recipes]
        return list(dict.fromkeys([*trained, *((name, "rubric") for name in self.rubric_sets)]))


def make_plan(study: ClusterStudy) -> Plan:
    """Return the plan of a study on a cluster."""
    settings = study.settings
    layout = lay_out(settings, _served_models(study), study.guessed)
    runs: list[Run] = []
    slots = layout.slots
    for judge in dict.fromkeys(arm.judge for arm in study.arms.arms):
        of_judge = [
            (arm, recipe, seed)
            for seed in range(settings.seeds)
            for recipe in study.recipes
            for arm in study.arms.arms
            if arm.judge == judge
        ]
        for number, (arm, recipe, seed) in enumerate(of_judge if slots else ()):
            name = f"{_slug(arm.name)}-{recipe.name}-{seed}"
            server = layout.servers.get(judge)
            watch = watch_settings(study.training, name, server if judge == audit_name(study) else None)
            runs.append(Run(name, arm, recipe, seed, slots[number % len(slots)], server, watch))
    return Plan(study, layout, tuple(runs), _keys(study))


def audit_name(study: ClusterStudy) -> str | None:
    """Return the name of the judge that audits a study's runs on a cluster; None if none does."""
    audit = study.training.audit
    return audit.judge if audit is not None and is_audited(study.training) else None


def repeated_names(plan: Plan) -> list[str]:
    """Return the names that two runs of a plan share, or arms that would give runs the same names."""
    names = [run.name for run in plan.runs]
    if not names:
        names = [_slug(arm) for arm in (*(arm.name for arm in plan.study.arms.arms), *plan.study.unread)]
    return sorted(name for name, count in Counter(names).items() if count > 1)


def provider_and_model(judge: str) -> tuple[str, str]:
    """Return the provider in a judge's name, and the model without it."""
    before, slash, model = split_judge_name(judge)[0].partition("/")
    return (ALIASES.get(before, before), model) if slash else ("", before)


def addresses_of(judge: str, options: Mapping[str, Any]) -> list[str]:
    """Return the addresses that a judge's name or options give for its servers; none for its provider's own."""
    url, given = split_judge_name(judge)[1], options.get("base_url")
    listed = given if isinstance(given, list) else [given]
    return [one for one in (url, *listed) if isinstance(one, str)]


def _served_models(study: ClusterStudy) -> Mapping[str, str]:
    found = {}
    for name, judge in study.judges.items():
        if isinstance(judge.model, str) and not addresses_of(judge.model, judge.options or {}):
            provider, model = provider_and_model(judge.model)
            if provider == _SERVED_BY:
                found[name] = model
    return found


def _keys(study: ClusterStudy) -> tuple[str, ...]:
    """Return the variables of the keys that the node needs: of judges that are asked, and of gated data sets."""
    others = (study.evaluator, audit_name(study))
    asked = {arm.judge for arm in study.arms.arms} | {name for name in others if name is not None}
    found = []
    for name in sorted(asked):
        judge = study.judges.get(name)
        known = PROVIDERS.get(provider_and_model(judge.model)[0]) if judge and isinstance(judge.model, str) else None
        own = judge is not None and addresses_of(str(judge.model), judge.options or {})
        if known is not None and known.needs_key and not own:
            found.append(known.key)
    sets = data_sets()
    if any(sets[name].gated for name in (study.settings.data, *study.settings.evaluate) if name in sets):
        found.append("HF_TOKEN")
    if "wandb" in str((study.settings.verl or {}).get("trainer.logger")):
        found.append("WANDB_API_KEY")
    return tuple(dict.fromkeys(found))


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "arm"
