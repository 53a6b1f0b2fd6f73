"""Every question, answer, reading and reward in one SQLite file: cache, resume, replay.

A question whose answer is recorded is never paid for again. Callers that ask the same question at the same time share
one call. An answer is committed before it is used, so ``kill -9`` costs at most the calls in flight. The file holds no
API key and no header. Not responsible for what a question is (``protocols``) or for retries (``backends``).
"""

from calipers.ledger.answers import find_learned, has_answers
from calipers.ledger.calls import SingleFlight, Unrecorded, ledger_key
from calipers.ledger.history import heard, last_like
from calipers.ledger.recorder import Recorder, Run, group_digest
from calipers.ledger.replayer import Nobody, Replay, Replayer
from calipers.ledger.sqlite import Ledger

__all__ = [
    "Ledger",
    "Nobody",
    "Recorder",
    "Replay",
    "Replayer",
    "Run",
    "SingleFlight",
    "Unrecorded",
    "find_learned",
    "group_digest",
    "has_answers",
    "heard",
    "last_like",
    "ledger_key",
]
