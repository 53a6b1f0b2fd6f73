"""A groups file as a Ray Dataset, read as a stream by one task on the machine of the command.

Reading the same file again gives the same rows, so Ray may repeat the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from calipers.errors import InputError
from calipers.inputs import read_groups
from calipers.ray.cluster import import_ray, this_machine
from calipers.types import TrajectoryGroup
from calipers.types.encoding import to_json_text, without_lone_surrogates

_ROWS = 16
"""Rows that the task writes at once."""
_READING = 0.25
"""The share of a CPU that Ray reserves for reading."""

OnError: TypeAlias = Callable[[InputError], None] | None
Change: TypeAlias = Callable[[Iterator[TrajectoryGroup], OnError], Iterable[TrajectoryGroup]]
"""Changes groups before they are judged, and passes those that cannot be judged to the function, or raises."""


@dataclass(frozen=True, slots=True)
class GroupsFile:
    """A groups file: ``reader`` and ``strict`` are those of ``read_groups``; ``change`` is applied to its groups."""

    path: str
    reader: str | None = None
    strict: bool = False
    change: Change | None = None

    def groups(self, on_error: OnError) -> Iterable[TrajectoryGroup]:
        """Yield the file's groups that can be judged. Raises InputError as ``read_groups`` does."""
        on_error = None if self.strict else on_error
        found = read_groups(self.path, reader=self.reader, strict=self.strict, on_error=on_error)
        return found if self.change is None else self.change(found, on_error)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield rows for ``workers``: each group with its number, and each error, in the file's order."""
        errors: list[InputError] = []
        number = 0
        try:
            for group in self.groups(errors.append):
                yield from self._errors(errors)
                text = without_lone_surrogates(to_json_text(group.to_dict()))
                yield {"number": number, "group": text, "error": None}
                number += 1
        except InputError as error:
            errors.append(error)
        yield from self._errors(errors)

    def _errors(self, errors: list[InputError]) -> Iterator[dict[str, Any]]:
        for error in errors:
            yield {"number": None, "group": None, "error": str(error)}
        errors.clear()

    def blocks(self) -> Iterator[Any]:
        """Yield the rows as Arrow tables."""
        import pyarrow as pa  # noqa: PLC0415 - comes with Ray Data

        schema = pa.schema([("number", pa.int64()), ("group", pa.large_string()), ("error", pa.large_string())])
        rows: list[dict[str, Any]] = []
        for row in self.rows():
            rows.append(row)
            if len(rows) == _ROWS:
                yield pa.Table.from_pylist(rows, schema)
                rows = []
        if rows:
            yield pa.Table.from_pylist(rows, schema)


def dataset_of(file: GroupsFile, *, batch_size: int, group_bytes: int) -> Any:
    """Return the file's rows as a Ray Dataset, in blocks of about ``batch_size`` groups of ``group_bytes`` each."""
    ray = import_ray()
    from ray.data.block import BlockMetadata  # noqa: PLC0415 - an extra
    from ray.data.datasource import Datasource, ReadTask  # noqa: PLC0415 - likewise

    class Source(Datasource):  # type: ignore[misc]  # Ray may not be installed
        """The Datasource of one task."""

        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[Any]:  # noqa: ARG002 - Ray's interface
            nothing_known = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
            return [ReadTask(file.blocks, nothing_known)]

    rows = ray.data.read_datasource(Source(), override_num_blocks=1, num_cpus=_READING, label_selector=this_machine())
    # A block is what a worker gets at a time, and Ray measures it in bytes.
    rows.context.target_max_block_size = max(1, group_bytes) * batch_size
    return rows
