"""Programs and tests in the tool ``shell``: modules and files come from texts in memory.

Its source follows that of ``shell_program`` in one text, which the sandbox runs. A program may import the sandbox's
modules and the candidate's own. ``pytest`` is a stand-in: it calls test functions, knows ``raises``, ``approx``,
``skip``, ``fail``, ``fixture`` and the marks ``skip``, ``skipif``, ``xfail`` and ``parametrize``, and reads no
``conftest.py`` and no configuration. It protects nothing: the sandbox does.
"""

from __future__ import annotations

import io
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Self

from calipers.judging.shell_program import Shell, ShellError, main

MODULES: frozenset[str] = frozenset()
"""The names of the sandbox's modules, which the caller puts in front."""


class SkippedError(Exception):
    """Raised by a test that skips itself."""


class _Written(io.StringIO):
    """A file that a program writes: its text is the file's once it is closed."""

    def __init__(self, shell: Shell, path: str, text: str) -> None:
        super().__init__()
        super().write(text)
        self._to = shell.files, path

    def close(self) -> None:
        if not self.closed:
            self._to[0][self._to[1]] = self.getvalue()
        super().close()


class _Printed(io.TextIOBase):
    """Standard output of a program: what it prints goes to the shell."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._shell.print(str(text))
        return len(text)


class Programs:
    """Runs programs over the files of ``shell``, with their modules, for one command."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.roots = [shell.folder]
        self.loaded: dict[str, types.ModuleType] = {"pytest": _pytest_module()}
        self._builtins: Any = sys.modules["builtins"]
        self._import = self._builtins.__import__

    def __enter__(self) -> Self:
        self._before = self._builtins.open, io.open, sys.stdout, sys.stderr, sys.argv
        self._builtins.__import__ = self._importing
        self._builtins.open = io.open = self._open
        sys.stdout = sys.stderr = _Printed(self.shell)
        return self

    def __exit__(self, *error: object) -> None:
        self._builtins.__import__ = self._import
        self._builtins.open, io.open, sys.stdout, sys.stderr, sys.argv = self._before

    def execute(self, text: str, path: str, name: str) -> types.ModuleType:
        """Run a source text as the module ``name``."""
        module = types.ModuleType(name)
        module.__dict__.update({"__file__": path, "__package__": name.rpartition(".")[0], "__artifact__": True})
        if path.endswith("/__init__.py"):
            module.__dict__.update({"__package__": name, "__path__": [path.rpartition("/")[0]]})
        self.loaded[name] = sys.modules[name] = module  # as dataclasses look up their module
        try:
            exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - in the sandbox
        except BaseException:
            self.loaded.pop(name, None)
            raise
        return module

    def _open(self, file: Any, mode: str = "r", *_: Any, **__: Any) -> Any:
        path = self.shell.path(str(file))
        if "w" in mode or "a" in mode or "x" in mode:
            return _Written(self.shell, path, self.shell.files.get(path, "") if "a" in mode else "")
        if path not in self.shell.files:
            raise FileNotFoundError(2, "No such file or directory", str(file))
        text = self.shell.files[path]
        return io.BytesIO(text.encode("utf-8", "surrogatepass")) if "b" in mode else io.StringIO(text)

    def _importing(
        self,
        name: str,
        globals: Any = None,  # noqa: A002 - the names are Python's
        locals: Any = None,  # noqa: A002 - likewise
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        if globals is None or "__artifact__" not in globals:
            return self._import(name, globals, locals, fromlist, level)
        if level:
            package = str(globals.get("__package__") or "").rsplit(".", level - 1)[0]
            name = f"{package}.{name}".strip(".")
        top = self._module(name.partition(".")[0])
        if top is None:
            if name.partition(".")[0] not in MODULES:
                raise ModuleNotFoundError(f"No module named {name!r}: it is neither a file nor one of the sandbox's")
            return self._import(name, {"__name__": "__main__"}, None, fromlist, 0)
        found, parts = top, name.split(".")
        for place in range(1, len(parts)):
            inner = self._module(".".join(parts[: place + 1]))
            if inner is None:
                raise ModuleNotFoundError(f"No module named {name!r}")
            setattr(found, parts[place], inner)
            found = inner
        for one in fromlist or ():
            if not hasattr(found, one) and (inner := self._module(f"{name}.{one}")) is not None:
                setattr(found, one, inner)
        return found if fromlist or level else top

    def _module(self, name: str) -> types.ModuleType | None:
        if name in self.loaded:
            return self.loaded[name]
        for root in self.roots:
            path = self.shell.path(f"{root}/{name.replace('.', '/')}")
            for source in (f"{path}.py", f"{path}/__init__.py"):
                if source in self.shell.files:
                    return self.execute(self.shell.files[source], source, name)
            if any(one.startswith(path + "/") and one.endswith(".py") for one in self.shell.files):
                self.loaded[name] = module = types.ModuleType(name)
                return module
        return None


def python(shell: Shell, words: list[str]) -> int:
    """Run ``python FILE``, ``python -c CODE`` or ``python -m MODULE``; return the exit code."""
    if words[:2] == ["-m", "pytest"]:
        return run_tests(shell, words[2:])
    with Programs(shell) as programs:
        try:
            if words[:1] == ["-c"] and len(words) > 1:
                text, path, sys.argv = words[1], "<command>", words[1:]
            elif words[:1] == ["-m"] and len(words) > 1:
                path, sys.argv = words[1].replace(".", "/") + ".py", words[1:]
                text = shell.read(path)
            elif words and not words[0].startswith("-"):
                text, path, sys.argv = shell.read(words[0]), words[0], words
                programs.roots.insert(0, shell.path(words[0]).rpartition("/")[0])
            else:
                shell.print("python: name a file, -c CODE or -m MODULE\n")
                return 2
            programs.execute(text, path, "__main__")
        except ShellError:
            raise
        except SystemExit as error:
            return error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException as error:  # noqa: BLE001 - a program may raise anything
            shell.print(f"{_told(shell, error)}\n")
            return 1
    return 0


def run_tests(shell: Shell, words: list[str]) -> int:
    """Run test functions of the named files or folders, or of all; print a line for each, and the counts."""
    names = [word for word in words if not word.startswith("-")] or ["."]
    paths = [path for name in names for path in shell.below(name.partition("::")[0])]
    wanted = {name.partition("::")[2] for name in names if "::" in name}
    counts = {"passed": 0, "failed": 0, "skipped": 0, "xfailed": 0, "xpassed": 0}
    for path in dict.fromkeys(paths):
        file = path.rpartition("/")[2]
        if path not in map(shell.path, names) and not (file.startswith("test_") or file.endswith("_test.py")):
            continue
        if not path.endswith(".py"):
            continue
        with Programs(shell) as programs:
            programs.roots.append(path.rpartition("/")[0])
            try:
                module = programs.execute(shell.files[path], path, file.removesuffix(".py"))
                tests = [one for one in _tests(module) if not wanted or one[0].partition("[")[0] in wanted]
            except BaseException as error:  # noqa: BLE001 - a module of a candidate may raise anything
                tests = [("(importing it)", _raising(error), [])]
            for name, call, marks in tests:
                outcome, reason = _outcome(shell, call, marks)
                counts[outcome] += 1
                shell.print(f"{shell.shown(path)}::{name} {outcome.upper()}{reason}\n")
    shell.print(", ".join(f"{count} {what}" for what, count in counts.items() if count) or "no tests ran")
    shell.print("\n")
    return 1 if counts["failed"] else 0 if any(counts.values()) else 5


def _raising(error: BaseException) -> Callable[[], object]:
    def call() -> object:
        raise error

    return call


def _tests(module: types.ModuleType) -> Iterator[tuple[str, Callable[[], object], list[Any]]]:
    fixtures = {name: one for name, one in vars(module).items() if getattr(one, "is_fixture", False)}

    def value(name: str) -> object:
        made = fixtures[name](**{one: value(one) for one in _arguments(fixtures[name])})
        return next(made) if isinstance(made, types.GeneratorType) else made

    def bound(function: Any, given: dict[str, object]) -> Callable[[], object]:
        return lambda: function(
            **{name: value(name) for name in _arguments(function) if name not in given and name in fixtures}, **given
        )

    for name, one in list(vars(module).items()):
        functions = [(name, one)] if name.startswith("test") and callable(one) else []
        if name.startswith("Test") and isinstance(one, type):
            functions = [(f"{name}::{inner}", getattr(one(), inner)) for inner in vars(one) if inner.startswith("test")]
        for shown, function in functions:
            marks = [*getattr(module, "pytestmark", ()), *getattr(function, "marks", ())]
            sets: list[dict[str, object]] = [{}]
            for mark in marks:
                if mark.name == "parametrize":
                    keys, values = mark.given[0], mark.given[1]
                    keys = [key.strip() for key in keys.split(",")] if isinstance(keys, str) else list(keys)
                    drawn = [dict(zip(keys, v if len(keys) > 1 else (v,), strict=True)) for v in values]
                    sets = [{**before, **more} for before in sets for more in drawn]
            for place, given in enumerate(sets):
                yield f"{shown}[{place}]" if given else shown, bound(function, given), marks


def _arguments(function: Any) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code is not None else ()
    return tuple(name for name in names if name != "self")


def _outcome(shell: Shell, call: Callable[[], object], marks: list[Any]) -> tuple[str, str]:
    for mark in marks:
        if mark.name == "skip" or (mark.name == "skipif" and mark.given and mark.given[0]):
            return "skipped", f": {mark.named.get('reason', '')}"
    expected = any(mark.name == "xfail" for mark in marks)
    try:
        returned = call()
    except SkippedError as error:
        return "skipped", f": {error}"
    except BaseException as error:  # noqa: BLE001 - a test may raise anything
        return ("xfailed" if expected else "failed"), f": {_told(shell, error)}"
    match returned:
        case types.CoroutineType():
            returned.close()
            return "skipped", ": it is async, and this shell has no event loop"
        case types.GeneratorType() | types.AsyncGeneratorType():
            return "failed", ": it is a generator, which no test may be: its body never ran"
        case _:
            return ("xpassed" if expected else "passed"), ""


def _told(shell: Shell, error: BaseException) -> str:
    """Return an error in words, with the last line of a file that it passed through."""
    trace, where = error.__traceback__, ""
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if shell.path(path) in shell.files:
            lines = shell.files[shell.path(path)].splitlines()
            line = lines[trace.tb_lineno - 1].strip() if trace.tb_lineno <= len(lines) else ""
            where = f" ({shell.shown(path)}, line {trace.tb_lineno}: {line})"
        trace = trace.tb_next
    try:
        said = str(error)[:500]
    except BaseException:  # noqa: BLE001 - an exception of a candidate may do anything
        said = ""
    return f"{type(error).__name__}{': ' * bool(said)}{said}{where}"


class _Mark:
    """A mark of a test, such as ``pytest.mark.skip``."""

    def __init__(self, name: str, given: tuple[Any, ...] = (), named: dict[str, Any] | None = None) -> None:
        self.name, self.given, self.named = name, given, named or {}

    def __call__(self, *given: Any, **named: Any) -> Any:
        if len(given) == 1 and not named and isinstance(given[0], types.FunctionType):
            vars(given[0])["marks"] = [*getattr(given[0], "marks", ()), self]
            return given[0]
        return _Mark(self.name, given, named)


class _Marks:
    def __getattr__(self, name: str) -> _Mark:
        return _Mark(name)


class _Raises:
    """``pytest.raises``: the block has to raise one of the types."""

    def __init__(self, kind: Any, match: str | None = None) -> None:
        self._kind, self._match = kind, match
        self.value: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if kind is None:
            raise AssertionError(f"nothing was raised; wanted: {self._kind}")
        self.value = error
        return issubclass(kind, self._kind) and (self._match is None or re.search(self._match, str(error)) is not None)


class _Approx:
    def __init__(self, wanted: Any, rel: float = 1e-6, abs: float = 1e-12) -> None:  # noqa: A002 - pytest's names
        self._wanted, self._rel, self._abs = wanted, rel, abs

    def __eq__(self, other: object) -> bool:
        pairs = zip(self._wanted, other, strict=True) if isinstance(other, list | tuple) else [(self._wanted, other)]
        return all(abs(a - b) <= max(self._abs, self._rel * abs(a)) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]


def _fixture(function: Any = None, **_: Any) -> Any:
    def mark(made: Any) -> Any:
        made.is_fixture = True
        return made

    return mark if function is None else mark(function)


def _skip(reason: str = "", **_: Any) -> None:
    raise SkippedError(reason)


def _fail(reason: str = "", **_: Any) -> None:
    raise AssertionError(reason)


def _pytest_module() -> types.ModuleType:
    module = types.ModuleType("pytest")
    module.__dict__.update(raises=_Raises, approx=_Approx, mark=_Marks(), fixture=_fixture, skip=_skip, fail=_fail)
    return module


if __name__ == "__main__":
    main(python)
