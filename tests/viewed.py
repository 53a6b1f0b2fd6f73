"""Views of groups for tests of rewards."""

from collections.abc import Sequence

from calipers.types import Candidate, RenderedGroup


def view_of(*texts: str, shared: Sequence[dict[str, str]] = ()) -> RenderedGroup:
    """A group of one assistant message each, after ``shared`` messages."""
    candidates = tuple(
        Candidate((n,), (*shared, {"role": "assistant", "content": text}), (text,)) for n, text in enumerate(texts)
    )
    ids = tuple(f"t{n}" for n in range(len(texts)))
    return RenderedGroup("g", ids, "0" * 32, "@", (), candidates, prefix_length=len(shared))
