"""Languages are told the same way every time, and without touching langdetect's own settings."""

import sys

import pytest

from calipers.errors import ConfigError
from calipers.verifiers.ifeval import instruction, language
from calipers.verifiers.ifeval.language import detected


def test_a_mixed_text_gets_the_same_answer_every_time_and_the_global_seed_stays_unset() -> None:
    langdetect = pytest.importorskip("langdetect", reason="langdetect is not installed: pip install 'calipers[ifeval]'")
    text = "no si the de la"
    answers = set()
    for _ in range(20):
        detected.cache_clear()
        answers.add(detected(text))
    assert len(answers) == 1
    assert langdetect.DetectorFactory.seed is None


def test_nothing_to_go_by_is_none() -> None:
    pytest.importorskip("langdetect", reason="langdetect is not installed: pip install 'calipers[ifeval]'")
    assert detected("12345 !?") is None


@pytest.mark.parametrize(
    ("instruction_id", "kwargs"),
    [
        ("language:response_language", {"language": "en"}),
        ("change_case:english_capital", {}),
        ("change_case:english_lowercase", {}),
    ],
)
def test_without_langdetect_the_remedy_is_said_before_any_check(
    instruction_id: str, kwargs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("langdetect", "langdetect.detector_factory"):
        monkeypatch.setitem(sys.modules, name, None)
    detected.cache_clear()
    language._factory.cache_clear()
    instruction("punctuation:no_comma")
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[ifeval\]'"):
        instruction(instruction_id, kwargs)
