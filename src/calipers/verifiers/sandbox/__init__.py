"""Foreign code, run where it can do no harm: rule functions given as source text, programs under test.

``Sandbox`` runs ``Job``s to ``Outcome``s. What an outcome means for a verdict is the verifiers' business.

Imported when first used: the fork server lives in this package, too, and every page it holds is copied for each check.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calipers.verifiers.sandbox.client import Sandbox, shared_sandbox
    from calipers.verifiers.sandbox.jobs import Isolation, Job, Limits, Outcome, OutcomeFailure
    from calipers.verifiers.sandbox.modules import ALLOWED

__all__ = ["ALLOWED", "Isolation", "Job", "Limits", "Outcome", "OutcomeFailure", "Sandbox", "shared_sandbox"]

_HOMES = {"ALLOWED": "modules", "Sandbox": "client", "shared_sandbox": "client"}


def __getattr__(name: str) -> object:
    """Import a public name from its home when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'calipers.verifiers.sandbox' has no attribute {name!r}")
    value = getattr(import_module(f"calipers.verifiers.sandbox.{_HOMES.get(name, 'jobs')}"), name)
    globals()[name] = value
    return value
