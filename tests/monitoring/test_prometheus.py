"""Prometheus' text format."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from calipers.monitoring.prometheus import exposition

LINE = re.compile(
    r'[a-zA-Z_:][a-zA-Z0-9_:]*(?:\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*"'
    r'(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*")*\})? \S+'
)


def test_each_number_is_a_gauge_with_its_labels():
    text = exposition({"judge/tie_rate": 0.25, "judge/groups": 3.0}, {"run": 'a"b\\c\nd'})
    assert text == (
        '# TYPE calipers_judge_groups gauge\ncalipers_judge_groups{run="a\\"b\\\\c\\nd"} 3.0\n'
        '# TYPE calipers_judge_tie_rate gauge\ncalipers_judge_tie_rate{run="a\\"b\\\\c\\nd"} 0.25\n'
    )


@given(
    st.dictionaries(st.text(min_size=1, max_size=20), st.floats()),
    st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(max_size=9)),
)
def test_whatever_the_names_every_line_is_well_formed_and_finite(metrics: dict[str, float], labels: dict[str, str]):
    for line in exposition(metrics, labels).split("\n")[:-1]:
        assert line.startswith("# TYPE calipers_") or LINE.fullmatch(line), line
        assert not line.endswith(("nan", "inf"))
