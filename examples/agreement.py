"""Compare a result file with the gold scores of its groups file, and show a few rankings.

    python examples/agreement.py examples/groups.jsonl out/demo.jsonl

Agreement is the mean over groups of the within-group Pearson correlation of reward and gold (what GRPO's advantages
feel), and how often the best reward went to the best trajectory.
"""

import json
import statistics
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table


def main(groups_file: str, results_file: str) -> None:
    """Print rankings of three groups (of the best agreement whose best candidate was found, middling, worst), then the
    agreement of all.
    """
    groups = {group["group_id"]: group for group in map(json.loads, Path(groups_file).read_text("utf-8").splitlines())}
    results = [json.loads(line) for line in Path(results_file).read_text("utf-8").splitlines()]
    console = Console(highlight=False)
    found = [correlation_and_hit(result, gold_of(groups[result["group_id"]])) for result in results]
    places = sorted(range(len(results)), key=lambda place: (found[place][1], found[place][0]), reverse=True)
    for place in dict.fromkeys((places[0], places[len(places) // 2], places[-1])):
        console.print(ranking(results[place], gold_of(groups[results[place]["group_id"]]), hit=found[place][1]))
    console.print(f"\nThe best, the middling and the worst agreement with gold; all groups are in {results_file}")
    console.print(agreement([result["group_id"] for result in results], found))
    if any("embedded judge" in warning for result in results for warning in result["warnings"]):
        console.print(
            "\nThe embedded judge only counts surface features.\nA real one: make demo JUDGE=openai/gpt-5-mini"
        )


def gold_of(group: dict) -> dict[str, float]:
    """Gold scores by trajectory id."""
    return {one["id"]: one["gold"] for one in group["trajectories"]}


def ranking(result: dict, gold: dict[str, float], *, hit: bool) -> Table:
    """One group, best reward first."""
    says = "the judge finds the best" if hit else f"the judge misses the best, {max(gold, key=gold.__getitem__)}"
    table = Table(title=f"\n{result['group_id']}: {says}", title_justify="left", box=None, pad_edge=False)
    for name in ("reward", "gold", "id"):
        table.add_column(name, justify="right")
    table.add_column("why, in the judge's words")
    for one in sorted(result["trajectories"], key=lambda one: -(one["reward"] or 0.0)):
        reward = "none" if one["reward"] is None else f"{one['reward']:.2f}"
        table.add_row(reward, f"{gold[one['id']]:.2f}", one["id"], one["explanation"] or one["reason"])
    return table


def correlation_and_hit(result: dict, gold: dict[str, float]) -> tuple[float, bool]:
    """How rewards and gold of one group correlate, and whether the best trajectory got the best reward."""
    scored = [(one["reward"], gold[one["id"]]) for one in result["trajectories"] if one["reward"] is not None]
    rewards, golds = [pair[0] for pair in scored], [pair[1] for pair in scored]
    spread = len(set(rewards)) > 1 and len(set(golds)) > 1
    hit = bool(scored) and max(scored)[1] == max(gold.values())
    return (statistics.correlation(rewards, golds) if spread else 0.0), hit


def agreement(names: list[str], found: list[tuple[float, bool]]) -> Table:
    """All groups, with the correlation in each and the means."""
    table = Table(title="\nagreement with gold", title_justify="left", box=None, pad_edge=False)
    table.add_column("group")
    table.add_column("correlation", justify="right")
    table.add_column("best found", justify="right")
    for name, (correlation, hit) in zip(names, found, strict=True):
        table.add_row(name, f"{correlation:+.2f}", "yes" if hit else "no")
    table.add_section()
    correlations, hits = zip(*found, strict=True)
    table.add_row(
        f"mean of {len(names)} groups", f"{statistics.mean(correlations):+.2f}", f"{sum(hits)} of {len(hits)}"
    )
    return table


if __name__ == "__main__":
    main(*sys.argv[1:])
