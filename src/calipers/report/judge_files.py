"""Reads what files say of judges: calibrations, calibrations of criteria, and profiles, in one form for the page.

A file's kind is recognised by its content. Files of older versions lack figures: what a file lacks is None, never 0.
Not responsible for comparisons (``comparison_files``), or for what results and ledgers say of judges
(``judge_tallies``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from calipers.errors import InputError
from calipers.report.comparison_files import COMPARISON, read_comparison
from calipers.report.judge_values import MOST_TEXT, bare_judge, figure_list, json_document, list_of, short_text
from calipers.study.profiles.figures import Figure
from calipers.study.profiles.files import is_profile, read_profile
from calipers.study.profiles.profile import Profile
from calipers.types.encoding import measured_number

_BEGINNING: Final = 4096
_FIRST_KEYS: Final = rb"judges|panel|recommendation|ways|findings|among|cascade"
_DOCUMENT: Final = re.compile(rb'^(?:\xef\xbb\xbf)?\s*\{\s*"(?:' + _FIRST_KEYS + rb')"\s*:')
_REMEDY: Final = "write it with `calipers calibrate GROUPS ... --json`"
_FIGURES: Final = {
    "fidelity": "advantage_fidelity", "top1": "top1", "sign_error": "sign_error", "repeatability": "repeatability",
    "noise": "noise", "stderr_ratio": "stderr_ratio", "failures": "failure_rate", "length": "length_preference",
    "gold_length": "gold_length_preference", "markdown": "markdown_preference", "flips": "order_flip_rate",
    "first": "first_rate", "ties": "tie_rate",
}  # fmt: skip
"""Figures of a judge in the page, by name, and their keys in a calibration."""


def is_judge_file(path: str) -> bool:
    """Return whether a report's source is a calibration, a comparison or a profile, by its beginning."""
    if "://" in path or not Path(path).is_file():
        return False
    try:
        with Path(path).open("rb") as stream:
            beginning = stream.read(_BEGINNING)
        return any(one.match(beginning) for one in (_DOCUMENT, COMPARISON)) or is_profile(path)
    except OSError:
        return False


def read_judge_file(path: str, *, redact: bool = False) -> dict[str, Any]:
    """Return what a calibration, a comparison or a profile says, as plain data for the page.

    ``kind`` is calibration, criteria, comparison or profile, and ``judges`` their figures. With ``redact``, reasons
    that may quote a reply are left out: those for missing verdicts, and why a judge failed. Raises InputError for a
    file that is none.
    """
    if is_profile(path):
        return {"kind": "profile", "source": Path(path).name, "judges": [_of_profile(read_profile(path))]}
    with Path(path).open("rb") as stream:
        if COMPARISON.match(stream.read(_BEGINNING)):
            return read_comparison(path, redact=redact)
    found = json_document(path, what="a calibration", remedy=_REMEDY)
    judges = [one for one in list_of(found.get("judges")) if isinstance(one, dict)]
    if "among" in found:
        told = [_of_criteria(one) | ({"missing": {}} if redact else {}) for one in judges]
        return {"kind": "criteria", "source": Path(path).name, "judges": told}
    if not isinstance(found.get("judges"), list):
        raise InputError(f"has no list of judges, so it is no calibration; {_REMEDY}", source=path, line=1)
    labels = _labels(judges)
    return {
        "kind": "calibration",
        "source": Path(path).name,
        "judges": [_of_calibration(one, label) for one, label in zip(judges, labels, strict=True)],
        "panel": _panel(found.get("panel")),
        "ways": [_way(one) for one in list_of(found.get("ways")) if isinstance(one, dict)],
        "frontier": _frontier(found.get("search")),
        "findings": [
            [short_text(one.get("judge")), short_text(one.get("text"))]
            for one in list_of(found.get("findings"))
            if isinstance(one, dict)
        ],
        "recommendation": short_text(found.get("recommendation")),
    }


def _labels(judges: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name for each judge; judges that were asked in several ways are distinguished by what differs."""
    names = [short_text(one.get("judge")) or "a judge without a name" for one in judges]
    counts = Counter(names)
    found = []
    for name, one in zip(names, judges, strict=True):
        heat = measured_number(one.get("temperature"))
        parts = [short_text(one.get(key)) for key in ("mode", "prompt_variant", "criterion")]
        parts += [None if heat is None else f"t={heat:g}"]
        told = ", ".join(part for part in parts if part)
        found.append(f"{name} ({told})" if counts[name] > 1 and told else name)
    return found


def _of_calibration(judge: Mapping[str, Any], label: str) -> dict[str, Any]:
    position = judge.get("place_curve")
    worth = list_of(position.get("worth")) if isinstance(position, Mapping) else ()
    measured = [one for one in list_of(judge.get("position_effects")) if isinstance(one, Mapping)]
    return {
        "name": label,
        "judge": short_text(judge.get("judge")),
        "groups": measured_number(judge.get("groups")),
        "judged": measured_number(judge.get("groups_judged")),
        "calls": measured_number(judge.get("calls_per_group")),
        "figures": {name: _figure(judge, key) for name, key in _FIGURES.items()},
        "missing": _counts(judge.get("missing")),
        "cost": _cost(judge.get("cost")),
        "positions": [_figure(one, "worth", "interval") for one in measured] or [figure_list(one) for one in worth],
        "positions_shrunk": not measured,
        "by_calls": [
            [measured_number(one.get("calls")), *_figure(one, "advantage_fidelity")]
            for one in list_of(judge.get("by_calls"))
            if isinstance(one, Mapping)
        ],
        "bins": [
            [measured_number(one.get("stated")), *_figure(one, "observed"), measured_number(one.get("groups"))]
            for one in list_of(judge.get("stderr_bins"))
            if isinstance(one, Mapping)
        ],
    }


def _of_criteria(judge: Mapping[str, Any]) -> dict[str, Any]:
    overall = judge.get("overall")
    rows, ungraded = measured_number(judge.get("rows")), measured_number(judge.get("ungraded"))
    return bare_judge(short_text(judge.get("judge")) or "a judge without a name") | {
        "groups": rows,
        "figures": {
            "balanced_f1": figure_list(overall.get("balanced_f1"), overall.get("interval"))
            if isinstance(overall, Mapping)
            else None,
            "failures": figure_list(ungraded / rows) if rows and ungraded is not None else None,
        },
        "missing": _counts(judge.get("reasons")),
    }


def _of_profile(profile: Profile) -> dict[str, Any]:
    agreement, repeats = profile.agreement, profile.repeatability
    length = profile.preferences.get("length")
    figures: dict[str, Figure | None] = {
        "fidelity": agreement.pearson, "noise": repeats.noise, "order_noise": repeats.order_noise,
        "repeatability": repeats.reliability, "failures": profile.failures.rate, "ties": profile.scale.ties,
        "length": None if length is None else length.per_unit, "injection": profile.injection,
        "slope": profile.position.slope,
    }  # fmt: skip
    return bare_judge(profile.name[:MOST_TEXT]) | {
        "judge": profile.subject.judge[:MOST_TEXT],
        "groups": profile.provenance.groups,
        "answers": profile.provenance.answers,
        "figures": {name: None if one is None else _of_figure(one) for name, one in figures.items()},
        "unknown": {name: one.reason for name, one in figures.items() if one is not None and not one.known},
        "positions": [_of_figure(one) for one in profile.position.curve],
    }


def _panel(panel: object) -> dict[str, Any] | None:
    if not isinstance(panel, Mapping) or len(list_of(panel.get("members"))) < 2:
        return None
    best = panel.get("best_member")
    return {
        "members": [short_text(one) or "a judge without a name" for one in panel["members"]],
        "weights": [measured_number(one) for one in list_of(panel.get("weights"))],
        "groups": measured_number(panel.get("groups")),
        "fidelity": _figure(panel, "advantage_fidelity"),
        "equal": measured_number(panel.get("equal_weights_fidelity")),
        "votes": measured_number(panel.get("effective_votes")),
        "correlation": measured_number(panel.get("error_correlation")),
        "best": [short_text(best.get("judge")), measured_number(best.get("advantage_fidelity"))]
        if isinstance(best, Mapping)
        else None,
    }


def _way(way: Mapping[str, Any]) -> dict[str, Any]:
    orders, samples = measured_number(way.get("orders")), measured_number(way.get("samples"))
    often = f"{orders or 1:g} order{'s' * (orders != 1)}" + (f" x {samples:g}" if samples not in (None, 1) else "")
    settled = "" if measured_number(way.get("resolve")) is None else ", resolve"
    return {
        "judges": " + ".join(short_text(one) or "?" for one in list_of(way.get("judges"))),
        "label": f"{short_text(way.get('protocol')) or 'asked'}, {often}{settled}",
        "cost": _cost(way.get("cost")),
        "fidelity": _figure(way, "advantage_fidelity"),
    }


def _frontier(search: object) -> dict[str, Any] | None:
    """Return the cost-accuracy frontier of a calibration's search, by rising price; None if the file has none."""
    if not isinstance(search, Mapping) or not list_of(search.get("frontier")):
        return None
    return {
        "measure": "cost_usd" if search.get("measure") == "usd" else short_text(search.get("measure")),
        "chosen": short_text(search.get("name")),
        "tried": measured_number(search.get("ways_tried")),
        "ways": [
            _way(one)
            | {"name": short_text(one.get("name")), "held_out": _figure(one, "held_out_fidelity", "held_out_interval")}
            for one in list_of(search.get("frontier"))
            if isinstance(one, Mapping)
        ],
    }


def _cost(cost: object) -> dict[str, float | None] | None:
    if not isinstance(cost, Mapping):
        return None
    found = {name: measured_number(cost.get(name)) for name in ("calls", "shown", "cost_usd")}
    tokens = [measured_number(cost.get(name)) for name in ("input_tokens", "output_tokens")]
    return found | {"tokens": None if None in tokens else sum(one or 0.0 for one in tokens)}


def _figure(values: Mapping[str, Any], key: str, interval: str | None = None) -> list[float | None]:
    return figure_list(values.get(key), values.get(interval or f"{key}_interval"))


def _of_figure(figure: Figure) -> list[float | None]:
    return [figure.value, figure.low, figure.high]


def _counts(found: object) -> dict[str, float]:
    items: Iterable[tuple[Any, Any]] = found.items() if isinstance(found, Mapping) else ()
    known = ((str(key)[:200], measured_number(value)) for key, value in items)
    return {key: value for key, value in known if value}
