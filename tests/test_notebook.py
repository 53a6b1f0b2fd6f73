"""The notebook of examples/, run from top to bottom in a real kernel, as a person runs it."""

import json
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "examples" / "first_judge.ipynb"


def test_the_notebook_is_stored_without_output():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert [cell["id"] for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.heavy
@pytest.mark.filterwarnings("default")  # of the kernel's own libraries
def test_every_cell_runs_and_shows_what_its_text_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed: pip install --group notebook")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install --group notebook")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install --group notebook")
    shutil.copy(ROOT / "examples" / "groups.jsonl", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=100, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in shown)
    assert "Judge('embedded', orders=2)" in text
    assert "chosen: careful" in text
    assert "[0." in text
