"""The sandbox: foreign code, such as rules given as source text and programs under test, runs where it can do no harm.

``Sandbox`` runs ``Job``s and returns their ``Outcome``s. Verifiers turn an outcome into a verdict.

Each name is imported at its first use, because the fork server lives in this package, too, and every page of its memory
is copied for each check.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calipers.verifiers.sandbox.client import Sandbox, shared_sandbox
    from calipers.verifiers.sandbox.confinement import ALLOWED
    from calipers.verifiers.sandbox.jobs import Isolation, Job, Limits, Outcome, OutcomeFailure

__all__ = ["ALLOWED", "Isolation", "Job", "Limits", "Outcome", "OutcomeFailure", "Sandbox", "shared_sandbox"]

_HOMES = {"ALLOWED": "confinement", "Sandbox": "client", "shared_sandbox": "client"}


def __getattr__(name: str) -> object:
    """Import a public name of ``calipers.verifiers.sandbox`` from its module at the first use."""
    if name not in __all__:
        raise AttributeError(f"module 'calipers.verifiers.sandbox' has no attribute {name!r}")
    value = getattr(import_module(f"calipers.verifiers.sandbox.{_HOMES.get(name, 'jobs')}"), name)
    globals()[name] = value
    return value
