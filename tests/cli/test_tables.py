"""A table keeps its figures and its names whole at any width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from calipers.cli.tables import print_figures

NAMES, HEADS = ("judge", "asked"), ("fidelity", "", "sign err", "groups")
ROWS = [
    ("openai/gpt-5-mini", "listwise", "0.578", "0.427 to 0.706", "0.296", "12"),
    ("[bold]odd", "", "0.700", "", "-", "888"),
]


def printed(width: int) -> list[str]:
    out = io.StringIO()
    print_figures(Console(file=out, width=width, highlight=False), "Judges", NAMES, HEADS, ROWS)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_names_and_figures_stand_side_by_side_where_there_is_room() -> None:
    title, head, first, second = printed(100)
    assert title == "Judges"
    assert head.split() == ["judge", "asked", "fidelity", "sign", "err", "groups"]
    assert first.split() == [*["openai/gpt-5-mini", "listwise", "0.578", "0.427", "to", "0.706", "0.296", "12"]]
    assert second.split() == ["[bold]odd", "0.700", "-", "888"]


@pytest.mark.parametrize("width", [60, 40, 10])
def test_names_stand_above_their_figures_where_there_is_none(width: int) -> None:
    assert printed(width) == [
        "Judges",
        "                      sign",
        "            fidelity   err groups",
        "openai/gpt-5-mini: listwise",
        "0.578 0.427 to 0.706 0.296     12",
        "[bold]odd",
        "0.700                    -    888",
    ]


def test_figures_with_their_differences_stand_below_one_another_where_rows_are_too_wide() -> None:
    heads = ("truth", "less control", "can see", "length", "less control", "can see")
    rows = [
        ("content", "", "0.693", "", "", "9.31", "", ""),
        ("arrival", "against [content]", "0.692", "-0.001 ± 0.012", "0.02", "4.59", "-4.72 ± 1.3", "1.7"),
    ]

    def shown(width: int) -> list[str]:
        out = io.StringIO()
        console = Console(file=out, width=width, highlight=False)
        print_figures(console, "Order", ("arm", ""), heads, rows, together=3)
        return out.getvalue().splitlines()

    assert len(shown(120)) == 4
    assert shown(80) == [
        "Order",
        "                   less control  can see",
        "content",
        "  truth   0.693",
        "  length   9.31",
        "arrival: against [content]",
        "  truth   0.692  -0.001 ± 0.012     0.02",
        "  length   4.59     -4.72 ± 1.3      1.7",
    ]
