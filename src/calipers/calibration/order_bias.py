"""What pairs judged in both orders show about a judge: how often the order decides, and how often it is right
elsewhere.

How much one order is worth then is learned in ``aggregators.swaps``.
"""

from __future__ import annotations

from calipers.calibration.series import Frame, Series, Swap


def flip_rate(series: Series) -> float | None:
    """How often the other order changes the verdict (better, worse or tied); None without such pairs."""
    return sum(not agrees(one) for one in series.swaps) / len(series.swaps) if series.swaps else None


def agrees(swap: Swap) -> bool:
    """Whether both orders name the same trajectory, or both a tie."""
    return (swap.said == "tie") == (swap.swapped == "tie") and (swap.said == "tie" or swap.said != swap.swapped)


def first_rate(series: Series) -> float | None:
    """The share of "first" among verdicts that are no tie; None without any."""
    first, second = series.verdicts.get("first", 0), series.verdicts.get("second", 0)
    return first / (first + second) if first + second else None


def agreeing_share(series: Series) -> float | None:
    """The share of pairs judged in both orders with the same winner in both: what remains if all others count as
    ties.
    """
    said = [agrees(swap) and swap.said != "tie" for swap in series.swaps]
    return sum(said) / len(said) if said else None


def agreeing_accuracy(series: Series, frame: Frame) -> float | None:
    """How often a winner in both orders is the better by gold, over pairs that differ in gold; None without any."""
    right: list[bool] = []
    for swap in series.swaps:
        columns, gold = frame.columns[swap.row], frame.gold[swap.row]
        if swap.said == "tie" or not agrees(swap) or not {swap.first, swap.second} <= columns.keys():
            continue
        gap = gold[columns[swap.first]] - gold[columns[swap.second]]
        if gap > 0 or gap < 0:  # False for equal and for missing gold
            right.append(bool(gap > 0) == (swap.said == "first"))
    return sum(right) / len(right) if right else None
