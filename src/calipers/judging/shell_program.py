"""The program behind the tool ``shell``: a small shell over texts in memory, which the sandbox runs as source text.

It reads one JSON object from its input (``files``, ``command``, ``modules``) and prints the exit code, then what the
command printed. There are no processes, and no files but the given texts, which it may change: the copy is its own. It
imports only what the sandbox offers, and protects nothing: the sandbox does. Not responsible for bounds, escapes, or
how tests are run (``shell_python``, whose source is put in front of this one).
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

MOST_PRINTED = 60_000
MOST_PIPED = 4_000_000
_OPERATORS = ("&&", "||", ">>", ";", "|", ">", "\n")
_TOKEN = re.compile(r"[ \t]+|2>&1|2>/dev/null|&&|\|\||>>|[;|>\n]|'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|[^\s;|>&'\"\\]+|.")
_COMMANDS = (
    "cat", "cd", "cp", "diff", "echo", "false", "find", "grep", "head", "ls", "mkdir", "mv", "pwd", "pytest", "python",
    "python3", "rm", "sed", "sort", "tail", "true", "uniq", "wc",
)  # fmt: skip
_TAKE_PATTERNS = ("grep", "find", "sed", "echo", "python", "python3")
_REFUSED = {"&": "background jobs", "<": "input redirection"}


class ShellError(Exception):
    """Raised for a command that cannot be run. Its text is what the command prints."""


def words_of(command: str) -> list[tuple[str, bool]]:
    """Return the words and operators of a command line; True marks an operator. Quotes are resolved."""
    found: list[tuple[str, bool]] = []
    joined = False
    for token in _TOKEN.findall(command):
        if token.strip(" \t") == "" or token.startswith("2>"):
            joined = False
        elif token in _OPERATORS:
            found.append((token, True))
            joined = False
        elif token in _REFUSED:
            raise ShellError(f"this shell has no {_REFUSED[token]}")
        elif token in ("'", '"', "\\"):
            raise ShellError("a quotation mark is not closed")
        else:
            if token[0] == "'":
                text = token[1:-1]
            else:
                text = re.sub(r"\\(.)", r"\1", token[1:-1] if token[0] == '"' else token)
            before = found.pop()[0] if joined else ""
            found.append((before + text, False))
            joined = True
    return found


class Shell:
    """The state of a run: the files by absolute path, and the folder. ``python`` runs programs and tests."""

    def __init__(self, files: dict[str, str], python: Callable[[Shell, list[str]], int]) -> None:
        self.files, self.folder = files, "/work"
        self._python = python
        self._printed: list[str] = []
        self._left = MOST_PRINTED
        own = {name[1:]: getattr(self, name) for name in dir(type(self)) if re.fullmatch("_[a-z]+", name)}
        own.update({"python3": self._python_command, "python": self._python_command})
        self.commands: dict[str, Callable[[list[str], str], int]] = {name: own[name] for name in _COMMANDS}

    def print(self, text: str) -> None:
        """Add to what the running command prints, up to a bound for the command."""
        self._printed.append(text[: max(0, self._left)])
        if 0 <= self._left < len(text):
            self._printed.append("\n... more was printed\n")
        self._left -= len(text)

    def run(self, command: str) -> tuple[int, str]:
        """Run a command line; return the exit code of its last command, and what it printed."""
        code, wanted, out = 0, "", []
        try:
            rest = [*words_of(command), (";", True)]
        except ShellError as error:
            return 2, f"{error}\n"
        while rest:
            end = next(place for place, word in enumerate(rest) if word in ((";", True), ("\n", True)) or
                       (word[1] and word[0] in ("&&", "||")))  # fmt: skip
            part, operator, rest = rest[:end], rest[end][0], rest[end + 1 :]
            skipped = (wanted == "&&" and code != 0) or (wanted == "||" and code == 0)
            if part and not skipped:
                code, printed = self._pipeline(part)
                out.append(printed)
            wanted = operator if operator in ("&&", "||") else ""
        return code, "".join(out)

    def _pipeline(self, words: list[tuple[str, bool]]) -> tuple[int, str]:
        code, given = 0, ""
        words = [*words, ("|", True)]
        while words:
            end = words.index(("|", True))
            part, words = words[:end], words[end + 1 :]
            target = next((place for place, word in enumerate(part) if word in ((">", True), (">>", True))), len(part))
            is_read = bool(words) or target < len(part)  # by the next command, or from a file: whole, or not at all
            self._printed, self._left = [], MOST_PIPED if is_read else MOST_PRINTED
            try:
                code = self._one([word for word, _ in part[:target]], given)
                if is_read and self._left < 0:
                    return 1, f"a pipe or a file takes at most {MOST_PIPED:,} characters\n"
                given = "".join(self._printed)
                if target < len(part):
                    given = self._redirect(part[target:], given)
            except ShellError as error:
                code, given = 1, "".join(self._printed) + f"{error}\n"
        return code, given

    def _redirect(self, words: list[tuple[str, bool]], text: str) -> str:
        if len(words) != 2 or words[1][1]:
            raise ShellError("a redirection needs one file")
        path = self.path(words[1][0])
        if path != "/dev/null":
            self.files[path] = (self.files.get(path, "") if words[0][0] == ">>" else "") + text
        return ""

    def _one(self, words: list[str], given: str) -> int:
        if not words:
            raise ShellError("a command is missing")
        if words[0] not in self.commands:
            self.print(f"{words[0][:80]}: there is no such command; there are {', '.join(self.commands)}\n")
            return 127
        arguments = [found for word in words[1:] for found in self._globbed(word)]
        return self.commands[words[0]](words[1:] if words[0] in _TAKE_PATTERNS else arguments, given)

    def path(self, name: str) -> str:
        """Return an absolute path. ``..`` above the root stays at the root."""
        parts: list[str] = []
        for part in (name if name.startswith("/") else f"{self.folder}/{name}").split("/"):
            if part == "..":
                del parts[-1:]
            elif part not in ("", "."):
                parts.append(part)
        return "/" + "/".join(parts)

    def read(self, name: str) -> str:
        """Return the text of a file. Raises ShellError if there is none."""
        if self.path(name) not in self.files:
            raise ShellError(f"{name[:200]}: no such file")
        return self.files[self.path(name)]

    def below(self, name: str) -> list[str]:
        """Return the paths of the file ``name``, or of all files below the folder, sorted."""
        path = self.path(name)
        inside = path.rstrip("/") + "/"
        return sorted(one for one in self.files if one == path or one.startswith(inside))

    def shown(self, path: str) -> str:
        """Return a path relative to the folder, where it is inside."""
        return path.removeprefix(self.folder.rstrip("/") + "/")

    def _globbed(self, word: str) -> list[str]:
        if "*" not in word and "?" not in word:
            return [word]
        pattern = _pattern(self.path(word), "[^/]")
        return [self.shown(path) for path in sorted(self.files) if pattern.fullmatch(path)] or [word]

    def _texts(self, names: Sequence[str], given: str) -> list[tuple[str, str]]:
        return [(name, self.read(name)) for name in names] or [("", given)]

    def _cat(self, words: list[str], given: str) -> int:
        numbered = "-n" in words
        for _, text in self._texts([word for word in words if word != "-n"], given):
            lines = text.splitlines(keepends=True)
            self.print("".join(f"{n}\t{line}" for n, line in enumerate(lines, 1)) if numbered else text)
        return 0

    def _cd(self, words: list[str], given: str) -> int:
        del given
        path = self.path(words[0] if words else "/work")
        if path != "/" and not any(one.startswith(path + "/") for one in self.files):
            raise ShellError(f"{words[0][:200]}: no such folder")
        self.folder = path
        return 0

    def _pwd(self, words: list[str], given: str) -> int:
        del words, given
        self.print(self.folder + "\n")
        return 0

    def _echo(self, words: list[str], given: str) -> int:
        del given
        self.print(" ".join(words) + "\n")
        return 0

    def _true(self, words: list[str], given: str) -> int:
        del words, given
        return 0

    def _false(self, words: list[str], given: str) -> int:
        del words, given
        return 1

    _mkdir = _true

    def _ls(self, words: list[str], given: str) -> int:
        del given
        for name in [word for word in words if not word.startswith("-")] or ["."]:
            found = self.below(name)
            if not found:
                raise ShellError(f"{name[:200]}: no such file or folder")
            start = len(self.path(name).rstrip("/")) + 1
            deep = any(word.startswith("-") and "R" in word for word in words)
            listed = [path[start:] if deep else path[start:].partition("/")[0] for path in found]
            folders = {path[start:].partition("/")[0] for path in found if "/" in path[start:]}
            lines = [f"{one or name}{'/' * (one in folders and not deep)}\n" for one in dict.fromkeys(listed)]
            self.print("".join(lines))
        return 0

    def _find(self, words: list[str], given: str) -> int:
        del given
        name = _pattern(words[words.index("-name") + 1], ".") if "-name" in words[:-1] else None
        for start in words[:1] if words and not words[0].startswith("-") else ["."]:
            for path in self.below(start):
                if name is None or name.fullmatch(path.rpartition("/")[2]):
                    self.print(self.shown(path) + "\n")
        return 0

    def _head(self, words: list[str], given: str) -> int:
        count, names = _count(words)
        for _, text in self._texts(names, given):
            self.print("".join(text.splitlines(keepends=True)[:count]))
        return 0

    def _tail(self, words: list[str], given: str) -> int:
        count, names = _count(words)
        for _, text in self._texts(names, given):
            self.print("".join(text.splitlines(keepends=True)[-count:] if count else []))
        return 0

    def _wc(self, words: list[str], given: str) -> int:
        for name, text in self._texts([word for word in words if not word.startswith("-")], given):
            lines = text.count("\n")
            counts = str(lines) if "-l" in words else f"{lines} {len(text.split())} {len(text)} {name}".rstrip()
            self.print(f"{counts}\n")
        return 0

    def _sort(self, words: list[str], given: str) -> int:
        for _, text in self._texts([word for word in words if not word.startswith("-")], given):
            self.print("".join(f"{line}\n" for line in sorted(text.splitlines(), reverse="-r" in words)))
        return 0

    def _uniq(self, words: list[str], given: str) -> int:
        for _, text in self._texts([word for word in words if not word.startswith("-")], given):
            lines = text.splitlines()
            starts = [n for n, line in enumerate(lines) if n == 0 or line != lines[n - 1]]
            for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
                self.print((f"{end - start} " if "-c" in words else "") + lines[start] + "\n")
        return 0

    def _sed(self, words: list[str], given: str) -> int:
        asked = re.fullmatch(r"(\d+)(?:,(\d+))?p", words[1]) if len(words) > 1 and words[0] == "-n" else None
        if asked is None:
            raise ShellError("sed: only sed -n 'FIRST,LASTp' [FILE...]")
        first, last = int(asked[1]), int(asked[2] or asked[1])
        for _, text in self._texts(words[2:], given):
            self.print("".join(text.splitlines(keepends=True)[max(0, first - 1) : last]))
        return 0

    def _grep(self, words: list[str], given: str) -> int:
        flags = "".join(word[1:] for word in words if re.fullmatch("-[rRniElvFc]+", word))
        rest = [word for word in words if not re.fullmatch("-[rRniElvFc]+", word)]
        if not rest:
            raise ShellError("grep: a pattern is missing")
        try:
            pattern = re.compile(re.escape(rest[0]) if "F" in flags else rest[0], re.IGNORECASE if "i" in flags else 0)
        except re.error as error:
            raise ShellError(f"grep: {error}") from None
        if "r" in flags.lower():
            texts = [(self.shown(path), self.files[path]) for name in rest[1:] or ["."] for path in self.below(name)]
        else:
            texts = self._texts([found for word in rest[1:] for found in self._globbed(word)], given)
        hits = 0
        for name, text in texts:
            lines = enumerate(text.splitlines(), 1)
            found = [(n, line) for n, line in lines if bool(pattern.search(line)) != ("v" in flags)]
            hits += len(found)
            before = f"{name}:" if len(texts) > 1 or "r" in flags.lower() else ""
            if "l" in flags or "c" in flags:
                self.print(f"{name}\n" * bool(found) if "l" in flags else f"{before}{len(found)}\n")
            else:
                self.print("".join(f"{before}{f'{n}:' * ('n' in flags)}{line}\n" for n, line in found))
        return 0 if hits else 1

    def _diff(self, words: list[str], given: str) -> int:
        del given
        names = [word for word in words if not word.startswith("-")]
        if len(names) != 2:
            raise ShellError("diff: name two files")
        (before, after), (old, new) = names, [self.read(name) for name in names]
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm="")
        self.print("".join(f"{line}\n" for line in lines))
        return 0 if old == new else 1

    def _cp(self, words: list[str], given: str) -> int:
        del given
        names = [word for word in words if not word.startswith("-")]
        if len(names) < 2:
            raise ShellError("cp: name what to copy, and where to")
        for name in names[:-1]:
            found, start, target = self.below(name), self.path(name), self.path(names[-1])
            if not found:
                raise ShellError(f"{name[:200]}: no such file or folder")
            if names[-1].endswith("/") or any(one.startswith(target + "/") for one in self.files):
                target += "/" + start.rpartition("/")[2]
            for path in found:
                self.files[target + path[len(start) :]] = self.files[path]
        return 0

    def _mv(self, words: list[str], given: str) -> int:
        self._cp(words, given)
        return self._rm([word for word in words if not word.startswith("-")][:-1], given)

    def _rm(self, words: list[str], given: str) -> int:
        del given
        for name in [word for word in words if not word.startswith("-")]:
            for path in self.below(name):
                del self.files[path]
        return 0

    def _pytest(self, words: list[str], given: str) -> int:
        return self._python_command(["-m", "pytest", *words], given)

    def _python_command(self, words: list[str], given: str) -> int:
        del given
        return self._python(self, words)


def _pattern(text: str, any_character: str) -> re.Pattern[str]:
    parts = {"*": f"{any_character}*", "?": any_character}
    return re.compile("".join(parts.get(char, re.escape(char)) for char in text), re.DOTALL)


def _count(words: list[str]) -> tuple[int, list[str]]:
    names = list(words)
    if names[:1] == ["-n"] and len(names) > 1:
        names[:2] = ["-" + names[1]]
    if names and re.fullmatch(r"-n?\d+", names[0]):
        return int(names[0].lstrip("-n")), names[1:]
    return 10, names


def scratch_copy(attempt: dict[str, str], task: dict[str, str]) -> dict[str, str]:
    """Return the files of a run by absolute path. A path that is plain wins over one that only resolves to it."""
    resolve = Shell({}, lambda *_: 0).path
    found: dict[str, str] = {}
    for folder, files in (("/work", attempt), ("/task", task)):
        for name, text in files.items():
            path = folder + resolve("/" + name.removeprefix("/"))
            if path not in found or path == f"{folder}/{name}":
                found[path] = text
    return found


def main(python: Callable[[Shell, list[str]], int]) -> None:
    """Run the command of the program's input, and print the exit code and what it printed."""
    given: dict[str, Any] = json.load(sys.stdin)
    printed = sys.stdout
    code, text = Shell(scratch_copy(given["attempt"], given["task"]), python).run(given["command"])
    if len(text) > MOST_PRINTED:
        text = f"{text[:MOST_PRINTED]}\n... more was printed\n"
    printed.write(f"{code}\n{text}")
