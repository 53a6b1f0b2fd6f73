"""Check a judge before a run that can also go on with the answers in its ledger alone."""

from __future__ import annotations

from collections.abc import Sequence

from calipers.errors import ConfigError
from calipers.judging.judge import Judge


async def check_or_continue(judge: Judge) -> Sequence[str]:
    """Check a ``judge`` before a run as ``Judge.check`` does, and return its warnings.

    If that fails and the ledger has answers of the judge, the error is a warning. Raises ConfigError otherwise.
    """
    try:
        return await judge.check()
    except ConfigError as error:
        if not judge.has_recorded_answers():
            raise
        from calipers.types.encoding import as_sentence  # noqa: PLC0415 - only a dead judge with a ledger needs it

        return [f"{as_sentence(str(error))} Continuing with the answers in the ledger."]
