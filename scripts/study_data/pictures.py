"""The figures of the documentation that are drawn from records of studies: docs/images/study-*.png and .svg."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from scripts.study_data.record import DATA

from calipers.study.curves import Against, ArmCurves, read_curves
from calipers.study.figures import draw_curve, save_figure

IMAGES: Final = DATA.parent / "images"


@dataclass(frozen=True, slots=True)
class Picture:
    """One figure of the documentation: a ``curve`` of some ``arms`` of the record ``study``; all arms without any.

    ``labels`` are other names for these arms, and ``title`` another title, where readers do not know the study.
    ``name`` is that of the file, without what is before it for all.
    """

    study: str
    curve: str
    arms: tuple[str, ...] = ()
    over: Against = "step"
    differences: bool = False
    labels: tuple[str, ...] = ()
    title: str = ""
    name: str = ""

    @property
    def stem(self) -> Path:
        """Return the path of the figure of a study, without its ending."""
        if self.name:
            return IMAGES / f"study-{self.name}"
        ends = [self.study, self.curve, *([f"over-{self.over}"] if self.over != "step" else [])]
        return IMAGES / "-".join(["study", *ends, *(["differences"] if self.differences else [])])


_FAILURES: Final = ("no failures", *(f"failures length {how}" for how in ("zero", "group", "none")))
_RECORDED: Final = tuple(
    f"{how} {judge}"
    for judge in ("chatgpt-0301", "claude-3-sonnet", "claude-3-haiku")
    for how in ("content", "arrival")
)
_DEFENCES: Final = ("fair", "obeys", "quarantine", "floor", "canaries", "panel, one of three obeys")
PICTURES: Final = (
    Picture(
        "failures",
        "length",
        ("no failures", "failures length zero", "failures length none"),
        labels=("no judgment fails", "a tenth fail, and count as 0", "a tenth fail, and are no signal: calipers"),
        title="Length of a policy's responses when judgments fail, more often of long ones",
        name="readme",
    ),
    Picture(
        "order",
        "length",
        ("content early", "arrival early", "reversed early", "arrival late", "reversed late", "reversed first"),
    ),
    Picture("order", "truth", ("true", "content early", "arrival early", "arrival late", "placebo"), over="kl"),
    Picture("order-profiles", "length", _RECORDED),
    Picture("failures", "length", _FAILURES),
    Picture("failures", "truth", differences=True),
    Picture("length", "length", differences=True),
    Picture("length", "overconfident", ("fair", "confidence", "both", "both, control .3", "both, control .6")),
    Picture("noise", "truth", ("true", "plain", "eight orders", "resolve", "reliability"), over="calls"),
    Picture("noise", "truth", ("true", "eight orders", "ranks", "ties", "reliability"), differences=True),
    Picture("injection", "injection", _DEFENCES),
    Picture("injection", "truth", _DEFENCES, over="kl"),
)
"""The figures of the documentation; those of a study that is not recorded are not drawn."""


def _renamed(arms: tuple[ArmCurves, ...], picture: Picture) -> tuple[ArmCurves, ...]:
    """Return a study's arms with the labels of a picture instead of their names."""
    names = dict(zip(picture.arms, picture.labels, strict=True)) if picture.labels else {}
    return tuple(replace(arm, name=names.get(arm.name, arm.name)) for arm in arms)


def draw_all() -> Iterator[Path]:
    """Draw every figure whose study is recorded, and yield the files. Raises ConfigError without matplotlib."""
    for picture in PICTURES:
        path = DATA / f"{picture.study}.json"
        if path.exists():
            study = read_curves(str(path), over=picture.over)
            study = replace(study, title=picture.title or study.title, arms=_renamed(study.arms, picture))
            shown = picture.labels or picture.arms
            figure = draw_curve(study, picture.curve, arms=shown, differences=picture.differences)
            yield from save_figure(figure, picture.stem)
