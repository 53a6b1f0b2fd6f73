"""The ledger: every request, answer, reading and reward in a SQLite file, for caching, resuming and replaying.

A request whose answer is recorded is never paid for again. Callers with the same request at the same time share a
single call. An answer is committed before it is used, so ``kill -9`` loses at most the calls in flight. The file holds
no API key and no header.
"""

from calipers.ledger.answers import find_learned, has_answers, is_repeat, recorded_judgments, settings_of_equal_run
from calipers.ledger.calls import SingleFlight, Unrecorded, ledger_key
from calipers.ledger.database import WritableLedger
from calipers.ledger.opening import open_ledger, read_ledger
from calipers.ledger.recorder import Recorder, Run, group_digest
from calipers.ledger.replayer import RecordedBackend, Replay, Replayer
from calipers.ledger.sqlite import Ledger

__all__ = [
    "Ledger",
    "RecordedBackend",
    "Recorder",
    "Replay",
    "Replayer",
    "Run",
    "SingleFlight",
    "Unrecorded",
    "WritableLedger",
    "find_learned",
    "group_digest",
    "has_answers",
    "is_repeat",
    "ledger_key",
    "open_ledger",
    "read_ledger",
    "recorded_judgments",
    "settings_of_equal_run",
]
