"""Foreign code, run where it can do no harm: rule functions given as source text, programs under test.

``Sandbox`` runs ``Job``s to ``Outcome``s. What an outcome means for a verdict is the verifiers' business.
"""

from calipers.verifiers.sandbox.client import Sandbox, shared_sandbox
from calipers.verifiers.sandbox.jobs import Isolation, Job, Limits, Outcome, OutcomeFailure
from calipers.verifiers.sandbox.modules import ALLOWED

__all__ = ["ALLOWED", "Isolation", "Job", "Limits", "Outcome", "OutcomeFailure", "Sandbox", "shared_sandbox"]
