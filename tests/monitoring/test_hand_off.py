"""The lines of docs/python.md that hand health metrics to a tracker, against the real package of each."""

from pathlib import Path

import pytest

import calipers
from calipers.monitoring.monitor import Monitor
from calipers.testing import SimulatedJudge
from groups import group_of

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]  # of the trackers' own libraries


@pytest.fixture
def metrics() -> dict[str, float]:
    monitor = Monitor()
    judge = calipers.Judge(SimulatedJudge({"a": 0.9, "b": 0.1}), records={"watchers": [monitor]})
    calipers.run(judge.score_group(group_of({"a": "yes", "b": "no"})))
    found = monitor.batch()
    assert found["judge/abstention_rate"] == 0.0
    return found


def test_wandb_takes_them_offline(metrics: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with wandb.init(project="calipers", mode="offline", dir=tmp_path) as run:
        run.log(metrics, step=7, commit=True)
        kept = {name: run.summary.get(name) for name in metrics}
    assert kept == pytest.approx(metrics)
    assert list(tmp_path.rglob("*.wandb"))


def test_mlflow_takes_them_into_a_folder(metrics: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(tmp_path.as_uri())
    mlflow.set_experiment("calipers")
    with mlflow.start_run() as run:
        mlflow.log_metrics(metrics, step=7)
    kept = mlflow.get_run(run.info.run_id).data.metrics
    assert kept == pytest.approx(metrics)


def test_tensorboard_takes_them(metrics: dict[str, float], tmp_path: Path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    tensorboard = pytest.importorskip("torch.utils.tensorboard", reason="torch is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415

    with tensorboard.SummaryWriter(tmp_path) as writer:
        for name, value in metrics.items():
            writer.add_scalar(name, value, 7)
    read = EventAccumulator(str(tmp_path)).Reload()
    assert set(read.Tags()["scalars"]) == set(metrics)
    (event,) = read.Scalars("judge/abstention_rate")
    assert (event.step, event.value) == (7, 0.0)
