"""Lists the benchmarks, or runs them: ``python -m benchmarks [--list] [NAME...]``; no name runs them all, in turn.

The benchmarks are the rows of the table in README.md; the other modules are their parts.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys

from benchmarks.environment import ROOT


def _benchmarks() -> dict[str, str]:
    """Each benchmark's name, with the first sentence of its docstring."""
    folder, found = ROOT / "benchmarks", {}
    for name in re.findall(r"^\| `([\w.]+)`", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        path = folder.joinpath(*name.split("."))
        file = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
        docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        found[name] = " ".join(docstring.split("\n\n")[0].split())
    return found


def main() -> int:
    """Run what the command line names; the exit code of the first that fails."""
    known = _benchmarks()
    names = sys.argv[1:]
    if names == ["--list"]:
        sys.stdout.writelines(f"{name:28} {what}\n" for name, what in known.items())
        return 0
    if unknown := [name for name in names if name not in known]:
        sys.stderr.write(f"no benchmark {', '.join(unknown)}; python -m benchmarks --list shows what there is\n")
        return 2
    code = 0
    for name in names or known:
        sys.stdout.write(f"\n== {name}\n")
        sys.stdout.flush()
        run = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], cwd=ROOT, check=False)  # noqa: S603 - ours
        code = code or run.returncode
    return code


if __name__ == "__main__":
    sys.exit(main())
