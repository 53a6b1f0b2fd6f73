"""The watch of a run on a cluster: the study's tables [audit] and [stop] as verl's table ``watch``.

Pure. Not responsible for what a watch does (``watching.verl``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

from calipers.study.export.arms import NO_CLUSTER_JUDGE
from calipers.study.export.layout import Server
from calipers.study.export.overrides import InStudy
from calipers.study.training.settings import Audit, TrainingStudy

MANAGER: Final = "calipers.study.watching.verl.AgentLoopManager"
_MANAGER_KEY: Final = "+actor_rollout_ref.rollout.agent.agent_loop_manager_class"


def watch_left_out(study: TrainingStudy) -> Iterator[tuple[str, str]]:
    """Yield what a study's tables [audit] and [stop] say that stays behind on a cluster, with the reason."""
    if study.auditor is not None and not is_audited(study):
        yield "[audit]", "its judge is simulated, or not one that a cluster can ask"
    rules = study.stop
    if rules is not None and not is_audited(study) and (rules.gap, rules.fidelity) != (None, None):
        yield "[stop] gap, fidelity", "there is no audit judge that a cluster can ask"
    if rules is not None and rules.kl is not None:
        yield "[stop] kl", "it is in nats per response of the tiny policy; verl logs nats per token"


def is_audited(study: TrainingStudy) -> bool:
    """Return whether a cluster can ask the study's audit judge."""
    model = None if study.auditor is None else study.auditor.judge.model
    return isinstance(model, str) and NO_CLUSTER_JUDGE.match(model) is None


def watch_settings(study: TrainingStudy, run: str, server: Server | None) -> dict[str, Any]:
    """Return verl's settings for the watch of a cluster's run, by dotted names; none if there is nothing to watch.

    ``server`` is that of the run's judge, if it is the audit judge, too.
    """
    rules = {} if study.stop is None else {key: one for key, one in asdict(study.stop).items() if one is not None}
    audited = is_audited(study)
    for name in ("kl",) if audited else ("kl", "gap", "fidelity"):
        rules.pop(name, None)
    if not audited and "length" not in rules:
        return {}
    found: dict[str, Any] = {_MANAGER_KEY: MANAGER, "+watch.folder": InStudy(f"watched/{run}")}
    found |= {f"+watch.rules.{name}": bound for name, bound in rules.items()}
    if rules.keys() - {"window"}:
        found["+watch.stop"] = True
    if audited and study.auditor is not None:
        settings = study.audit or Audit()
        options: Mapping[str, Any] = {"judge": study.auditor.judge.model, **study.auditor.options}
        if server is not None:
            options = {**options, "base_url": server.urls}
        found |= {"+watch.every": settings.every, "+watch.sample": settings.sample}
        found |= {f"+watch.audit.{name}": value for name, value in options.items()}
    return found
