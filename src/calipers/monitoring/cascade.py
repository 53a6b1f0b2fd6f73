"""Compute health metrics of a cascade from results: which judge scored the groups, and what checks show.

Not responsible for thresholds or breaches, which are part of judging (``judging.cascade``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from calipers.aggregators.betting import lower_bound, upper_bound
from calipers.types import GroupResult
from calipers.types.encoding import finite_number


def cascade_metrics(results: Sequence[GroupResult]) -> dict[str, float | None]:
    """Return health metrics of a cascade; an empty dict if no result is of one.

    Bounds of the error hold at the level of 95 %, each alone, for these checks.
    """
    routes = [route for result in results if (route := _route(result)) is not None]
    if not routes:
        return {}
    errors = [error for route in routes if (error := finite_number(route.get("error"))) is not None]
    thresholds = [found for route in routes for one in route["thresholds"] if (found := finite_number(one)) is not None]
    whys = [route.get("why") for route in routes]
    return {
        "cascade_sure_rate": whys.count("sure") / len(whys),
        "cascade_unusable_rate": whys.count("unusable") / len(whys),
        "cascade_breach_rate": sum(None in route["thresholds"] for route in routes) / len(routes),
        "cascade_threshold": math.fsum(thresholds) / len(thresholds) if thresholds else None,
        "cascade_checks": len(errors),
        "cascade_error": math.fsum(errors) / len(errors) if errors else None,
        "cascade_error_low": lower_bound(errors) if errors else None,
        "cascade_error_high": upper_bound(errors) if errors else None,
    }


def _route(result: GroupResult) -> Mapping[str, Any] | None:
    found = result.extra.get("cascade")
    return found if isinstance(found, Mapping) and isinstance(found.get("thresholds"), list) else None
