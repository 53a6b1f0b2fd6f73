"""The marker is drawn from a seed and absent from what it is drawn for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from calipers.render.group import draw_marker
from strategies import texts


@given(st.binary(max_size=8), texts())
def test_the_marker_is_absent_and_repeats_for_the_same_input(seed: bytes, text: str) -> None:
    marker = draw_marker(seed, (text,))
    assert marker not in text
    assert marker == draw_marker(seed, (text,))
    assert marker.startswith("@")
    assert marker[1:].isalpha()


def test_taken_markers_are_drawn_again_and_longer_until_one_is_free() -> None:
    taken = ""
    lengths = []
    for _ in range(40):
        marker = draw_marker(b"seed", (taken,))
        assert marker not in taken
        lengths.append(len(marker))
        taken += marker + "\n"
    assert lengths[0] == 4
    assert max(lengths) > 4


def test_different_seeds_draw_different_markers() -> None:
    assert len({draw_marker(bytes([number]), ()) for number in range(50)}) > 30
