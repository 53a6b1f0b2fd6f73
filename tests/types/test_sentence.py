"""Texts that are joined stay sentences."""

from calipers.types.encoding import as_sentence, with_remark


def test_a_text_ends_as_a_sentence_before_another_one() -> None:
    assert as_sentence("m is not there (HTTP 404)") == "m is not there (HTTP 404)."
    assert [as_sentence(one) for one in ("", "It is.", "Is it?", "See:")] == ["", "It is.", "Is it?", "See:"]


def test_a_remark_stands_before_the_full_stop_and_after_a_question() -> None:
    assert with_remark("It may help.", "twice") == "It may help (twice)."
    assert with_remark("It died", "twice") == "It died (twice)"
    assert with_remark("Is it up?", "twice") == "Is it up? (twice)"
