"""Measure a judge's position bias in pairs judged in both orders: how often the order decides the verdict, and how
accurate the other verdicts are.

The size of the bias is learned in ``aggregators.pair_bias``.
"""

from __future__ import annotations

from calipers.calibration.series import Frame, Series, Swap


def flip_rate(series: Series) -> float | None:
    """Return, for calibration, how often the other order of a pair changes the judge's verdict.

    A verdict is better, worse or tied. None without such pairs.
    """
    return sum(not orders_agree(one) for one in series.swaps) / len(series.swaps) if series.swaps else None


def orders_agree(swap: Swap) -> bool:
    """Return whether verdicts in calibration on both orders of a pair name the same trajectory, or are both a tie."""
    return (swap.said == "tie") == (swap.swapped == "tie") and (swap.said == "tie" or swap.said != swap.swapped)


def first_rate(series: Series) -> float | None:
    """Return the share of "first" among a judge's verdicts in calibration on pairs that are not ties.

    None without such verdicts.
    """
    first, second = series.verdicts.get("first", 0), series.verdicts.get("second", 0)
    return first / (first + second) if first + second else None


def agreeing_share(series: Series) -> float | None:
    """Return the share of pairs in calibration with the same winner in both orders; all others count as ties."""
    said = [orders_agree(swap) and swap.said != "tie" for swap in series.swaps]
    return sum(said) / len(said) if said else None


def agreeing_accuracy(series: Series, frame: Frame) -> float | None:
    """Return, for calibration, how often the winner of a pair in both orders also has the higher gold score.

    None without pairs that differ in gold.
    """
    right: list[bool] = []
    for swap in series.swaps:
        columns, gold = frame.columns[swap.row], frame.gold[swap.row]
        if swap.said == "tie" or not orders_agree(swap) or not {swap.first, swap.second} <= columns.keys():
            continue
        gap = gold[columns[swap.first]] - gold[columns[swap.second]]
        if gap > 0 or gap < 0:  # False for equal and for missing gold
            right.append(bool(gap > 0) == (swap.said == "first"))
    return sum(right) / len(right) if right else None
