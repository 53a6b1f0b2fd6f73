"""What is compared and shown of the data types."""

import dataclasses

from calipers import types


def test_what_describes_one_call_or_one_process_is_neither_compared_nor_shown() -> None:
    """Recorded and fresh answers are equal if the judge said the same; a debugger's view stays short."""
    nouns = [one for one in vars(types).values() if isinstance(one, type) and dataclasses.is_dataclass(one)]
    fields = [(f"{noun.__name__}.{one.name}", one) for noun in nouns for one in dataclasses.fields(noun)]
    assert {name for name, one in fields if not one.compare} == {
        "Completion.sent", "Completion.recorded", "Completion.fingerprint", "Completion.text_source",
        "Completion.failed", "Completion.question", "JudgeRequest.on_failed_call",
    }  # fmt: skip
    assert {name for name, one in fields if not one.repr} == {
        "Completion.sent", "Completion.recorded", "Completion.fingerprint", "Completion.text_source",
        "Completion.failed", "Completion.question", "Completion.logprobs", "JudgeRequest.on_failed_call",
        "Verdict.presentation", "Verdict.slot", "Verdict.share", "Verdict.quote",
    }  # fmt: skip
    assert all(noun.__dataclass_params__.frozen for noun in nouns)  # type: ignore[attr-defined]  # of every dataclass
