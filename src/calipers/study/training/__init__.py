"""Real GRPO on a CPU: a tiny transformer, pre-trained on the spot, rewarded by any judge through calipers.

A TOML file describes a matrix of judges, ways to ask them, and settings; every arm is trained with the same seeds, so
that arms are compared run by run. Importing this package imports nothing heavy; training needs PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from calipers.errors import ConfigError

if TYPE_CHECKING:
    from calipers.study.training.matrix import Failed
    from calipers.study.training.settings import TrainingStudy
    from calipers.study.training.summary import ArmSummary, Validity


def train_study(
    study: TrainingStudy,
    text: str,
    out: Path,
    *,
    workers: int = 1,
    tell: Callable[[str], object] = lambda _: None,
) -> tuple[list[ArmSummary], Validity, list[Failed]]:
    """Make all runs of a training study in the folder ``out`` that are not finished there, and write its results.

    ``text`` is the study's TOML, which is kept. ``workers`` runs are made at the same time, each on one core. ``tell``
    is called with a line for each run. Returns the arms' figures, whether the study is valid, and the runs that
    failed. Raises ConfigError, before anything is run, for missing libraries and an ``out`` that holds other things,
    and where ``out`` cannot be written, such as on a full disk.
    """
    from calipers.study.training.matrix import make_runs, require_same_runs, require_usable  # noqa: PLC0415 - heavy
    from calipers.study.training.problems import missing_libraries  # noqa: PLC0415 - likewise
    from calipers.study.training.results import write_results, write_study  # noqa: PLC0415 - likewise

    if problems := list(missing_libraries(study)):
        raise ConfigError("a training study cannot be run here:" + "".join(f"\n  {one}" for one in problems))
    require_usable(out)
    require_same_runs(study, out)
    try:
        write_study(study, text, out)
        try:
            failed = make_runs(study, out, workers=workers, tell=tell)
        except KeyboardInterrupt:
            write_results(study, out, [])
            raise
        summaries, valid = write_results(study, out, failed)
    except OSError as error:
        why = error.strerror or error
        raise ConfigError(
            f"{out}: cannot be written ({why}); its runs are kept, and the same command goes on"
        ) from error
    return summaries, valid, failed
