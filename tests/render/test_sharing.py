"""What recurs is found at every place it stands, and references lose nothing."""

from __future__ import annotations

from calipers.render.group import SHORTEST_EXHIBIT, common_prefix_length, find_exhibits, refer_to_exhibits
from calipers.render.transcript import MARK, write_blocks

LONG = "word " * (SHORTEST_EXHIBIT // 5)


def result(call_id: str, text: str) -> str:
    return write_blocks([{"role": "tool", "tool_call_id": call_id, "content": text}], after_assistant=False)[0]


def test_the_common_beginning_ends_at_the_first_difference_or_the_shortest_end() -> None:
    assert common_prefix_length([["a", "b", "c"], ["a", "b", "d"]]) == 2
    assert common_prefix_length([["a", "b"], ["a"]]) == 1
    assert common_prefix_length([["a"], []]) == 0
    assert common_prefix_length([]) == 0


def test_a_long_text_is_shared_when_only_its_call_id_differs() -> None:
    blocks = [result("c1", LONG), result("c4", LONG)]
    names = find_exhibits(blocks)
    assert names == {f"{LONG}\n": "X1"}
    assert refer_to_exhibits(blocks, names) == f"{MARK}result c1 see X1\n{MARK}result c4 see X1\n"


def test_short_or_single_texts_stay_where_they_are() -> None:
    blocks = [result("c1", "short"), result("c2", "short"), result("c3", LONG)]
    assert find_exhibits(blocks) == {}
    assert refer_to_exhibits(blocks, {}) == "".join(blocks)


def test_a_long_call_is_never_taken_for_a_text() -> None:
    function = {"name": "f", "arguments": "x\n" + LONG}
    block = write_blocks(
        [{"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}],
        after_assistant=False,
    )[0]
    assert find_exhibits([block, block]) == {}


def test_exhibits_are_named_in_order_of_first_appearance() -> None:
    other = LONG.upper()
    names = find_exhibits([result("c1", LONG), result("c2", other), result("c3", other), result("c4", LONG)])
    assert list(names.values()) == ["X1", "X2"]
    assert next(iter(names)) == f"{LONG}\n"
