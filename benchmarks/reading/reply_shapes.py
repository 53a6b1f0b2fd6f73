"""Scores read from generated replies of many shapes: exact, rightly abstained, abstained though stated, wrong.

    python -m benchmarks.reading.reply_shapes [--draws 16] [--seed 0] [-v] [--show SHAPE]

Every shape is a way in which judges write a verdict: JSON, damaged JSON, tables, lists, sections, key-value lines and
prose, one candidate and several, in 19 languages, with and without a scale stated, asked for 0-100, 0-1, 0-10 and 1-5.
What a reply means is known because it was written from that. *Exact*: every number that a careful reader would take,
and no other. *Rightly abstained*: nothing can be taken, and nothing was. *Wrong*: any number that the reply does not
mean. The *tuned* shapes were used to make the rules; those *held out* were written before and only counted until the
rules stood; those *later* were written after.
``-v`` lists every shape that is not all exact or rightly abstained; ``--show`` prints one shape's replies.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

from reply_shapes import GRADES, HALVES, grade
from reply_shapes.draw import Case, Shape


def cases(shape: Shape, draws: int, seed: int) -> Iterator[Case]:
    """The drawn replies of one shape."""
    for number in range(draws):
        yield shape.draw(f"{seed}/{number}")


def show(shape: Shape, draws: int, seed: int) -> None:
    """Print every reply of a shape that was not read right, and what was read."""
    for case in cases(shape, draws, seed):
        graded, read = grade(case)
        if graded in ("wrong", "abstained though stated"):
            print(f"--- {graded}, asked {case.scale}, means {case.truth}, read {read}\n{case.text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=16, help="replies a shape")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--half", choices=HALVES, help="one half only")
    parser.add_argument("--show", help="print the badly read replies of the shapes whose name holds this")
    parser.add_argument("-v", action="store_true", help="list all shapes that are not read throughout")
    given = parser.parse_args()
    pooled: Counter[str] = Counter()
    print(f"{'':48}{'replies':>8}{'exact':>8}{'rightly':>9}{'missed':>8}{'WRONG':>7}")
    for half, shapes in HALVES.items():
        total: Counter[str] = Counter()
        for shape in shapes if given.half in (None, half) else ():
            counts = Counter(grade(case)[0] for case in cases(shape, given.draws, given.seed))
            total += counts
            if given.v and (counts["wrong"] or counts["abstained though stated"]):
                line(f"  {shape.name}", counts)
            if given.show and given.show in shape.name:
                show(shape, given.draws, given.seed)
        pooled += total
        line(f"{half}: {len(shapes)} shapes", total)
    line("all", pooled)


def line(name: str, counts: Counter[str]) -> None:
    """One line of the table."""
    cells = (counts.total(), *(counts[one] for one in GRADES))
    print("{:48}{:>8}{:>8}{:>9}{:>8}{:>7}".format(name[:47], *cells))


if __name__ == "__main__":
    main()
