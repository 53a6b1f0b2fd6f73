"""``.eval`` files of inspect_ai: zips with a header and an entry for each sample. Not responsible for what a sample
holds (``inspect_log``).

A log that is still written, or whose run was ended, has no header yet; its journal names the task. Source of the names:
inspect_ai's recorders.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from calipers.errors import ConfigError, InputError
from calipers.inputs.plain import without_surrogates

_ZSTD = 93
_LARGEST = 2**30
"""The most bytes of a sample, decompressed."""
_REMEDY = "pip install zstandard, or write it as JSON: inspect log convert FILE --to json --output-dir DIR"
_HEADERS = ("header.json", "_journal/start.json")
_DAMAGE = (zipfile.BadZipFile, ValueError, EOFError, OSError, struct.error, zlib.error, RuntimeError)
"""What reading a damaged zip raises; RuntimeError is of an encrypted entry and of an unknown compression."""


def eval_rows(path: Path, stream: IO[bytes]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the samples of an ``.eval`` file as one-sample logs, in the order of their names, numbered from 1.

    A sample that cannot be read is the problem's text. Raises InputError for a file that is no whole zip, and
    ConfigError for one compressed with zstd without the package zstandard.
    """
    try:
        archive = zipfile.ZipFile(stream)
    except _DAMAGE as error:
        raise InputError(f"is a damaged .eval file ({error}); copy it again", source=str(path)) from None
    with archive:
        entries = {info.filename: info for info in archive.infolist()}  # of a name written twice, the last counts
        task = _task(path, archive, stream, entries)
        samples = sorted(name for name in entries if name.startswith("samples/") and name.endswith(".json"))
        if not samples:
            raise InputError("is an .eval file without samples", source=str(path))
        chunked = sorted({name.split("/")[1] for name in samples if name.count("/") > 1})
        whole = [name for name in samples if name.count("/") == 1]
        for number, name in enumerate(whole, start=1):
            sample = _json(path, archive, stream, entries[name])
            yield number, sample if isinstance(sample, str) else {"eval": {"task": task}, "samples": [sample]}
        for number, name in enumerate(chunked, start=len(whole) + 1):
            yield number, f"the sample {name[:100]} is in chunks, which are not read; {_REMEDY.partition(', or ')[2]}"


def _task(path: Path, archive: zipfile.ZipFile, stream: IO[bytes], entries: dict[str, zipfile.ZipInfo]) -> str | None:
    """Return the name of a log's task; None if no header names one, or the header is damaged."""
    for name in _HEADERS:
        header = _json(path, archive, stream, entries[name]) if name in entries else ""
        spec = header.get("eval") if isinstance(header, dict) else None
        if isinstance(spec, dict) and isinstance(spec.get("task"), str):
            return str(spec["task"])
    return None


def _json(path: Path, archive: zipfile.ZipFile, stream: IO[bytes], info: zipfile.ZipInfo) -> dict[str, Any] | str:
    """Return the object in an entry of an ``.eval`` file, or as text what is wrong with it."""
    where = f"the entry {info.filename[:100]!r}"
    if info.file_size > _LARGEST:
        return f"{where} has {info.file_size / 2**30:.1f} GiB, which is more than is read"
    try:
        found = without_surrogates(json.loads(_read(path, archive, stream, info)))
    except RecursionError:  # Python words it differently from version to version
        return f"{where} is damaged (nested too deeply); copy the file again"
    except _DAMAGE as error:
        return f"{where} is damaged ({str(error)[:200] or type(error).__name__}); copy the file again"
    return found if isinstance(found, dict) else f"{where} is not a JSON object"


def _read(path: Path, archive: zipfile.ZipFile, stream: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    if info.compress_type != _ZSTD:
        return archive.read(info)
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - optional, no dependency
    except ImportError:
        raise ConfigError(f"{path}: is compressed with zstd, which needs a package: {_REMEDY}") from None
    stream.seek(info.header_offset + 26)
    name, extra = struct.unpack("<HH", stream.read(4))
    stream.seek(info.header_offset + 30 + name + extra)
    data = stream.read(info.compress_size)
    try:
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
            found: bytes = reader.read(info.file_size)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
    if zlib.crc32(found) != info.CRC:
        raise ValueError("its checksum is wrong")
    return found
