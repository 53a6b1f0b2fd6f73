"""The English parameters with which ``sentences`` splits text: nltk's parameters if installed, else a built-in list.

nltk's parameters are searched for in nltk's data folders and in the llama-index-core wheel, which contains them. They
are not part of calipers, because nobody has stated a licence for them. Nothing is ever downloaded. The built-in lists
split ordinary text like nltk's parameters (figures in docs/ifeval.md). The two can differ on rare words after an
abbreviation, an initial or an ellipsis.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path

from calipers.verifiers.ifeval.rule import word_list
from calipers.verifiers.ifeval.sentences import LOWER, LOWER_OPENING, UPPER_INSIDE, Parameters

_FOLDER = Path("tokenizers", "punkt_tab", "english")
_CARRIED = Path("core", "_static", "nltk_cache")
_DIGESTS = {
    "abbrev_types.txt": "92a3e070f43d9b4c5534758ca40ad7343b04e7e29bfe0c2eb658a39445a4f779",
    "collocations.tab": "8e2da1225e4dd2cc9dba261ee231ccb134859e21b46006e7f472c5ee269af0cf",
    "sent_starters.txt": "f3f8535483e1dba487241b764945168123bca3209a9645e59acd1225dc76edac",
    "ortho_context.tab": "4bbcca25ed3d3f06c02402abf8419b9f033b8adc06e7b482eca4e45f81a5dc4c",
}
"""SHA-256 of the files with which the official verdicts were made. Other files would silently split
text differently.
"""


@lru_cache(maxsize=1)
def parameters() -> Parameters:
    """Return nltk's Punkt parameters for IFEval's sentences if they are installed, else the built-in parameters."""
    for root in _data_folders():
        if (found := read_parameters(root / _FOLDER)) is not None:
            return found
    return built_in_parameters()


def read_parameters(folder: Path) -> Parameters | None:
    """Read Punkt parameters for IFEval in a ``punkt_tab/english`` folder.

    None if a file is missing or has other content.
    """
    contents = {}
    for name, digest in _DIGESTS.items():
        try:
            data = (folder / name).read_bytes()
        except OSError:
            return None
        if hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest() != digest:
            return None
        contents[name] = data.decode().splitlines()
    pairs = (line.split("\t") for line in contents["collocations.tab"])
    written = (line.split("\t") for line in contents["ortho_context.tab"])
    return Parameters(
        name="punkt",
        abbreviations=frozenset(contents["abbrev_types.txt"]),
        collocations=frozenset((first, second) for first, second in pairs),
        starters=frozenset(contents["sent_starters.txt"]),
        written={word: int(bits) for word, bits in written},
    )


def built_in_parameters() -> Parameters:
    """Return the built-in Punkt parameters for IFEval, whose ``name`` is ``built-in``."""
    lower = LOWER & ~LOWER_OPENING
    return Parameters(
        name="built-in",
        abbreviations=frozenset((*word_list("abbreviations"), ". . ")),  # an ellipsis with spaces in it
        collocations=frozenset({("##number##", "international"), ("##number##", "review")}),
        starters=frozenset(word_list("openers")),
        written=dict.fromkeys(word_list("lower_case"), lower)
        | dict.fromkeys(word_list("lower_case_but_in_titles"), UPPER_INSIDE | lower),
    )


def _data_folders() -> Iterator[Path]:
    """Yield the folders that may contain nltk data: nltk's own, then the folder inside llama-index-core."""
    for named in filter(None, os.environ.get("NLTK_DATA", "").split(os.pathsep)):
        yield Path(named)
    yield Path(os.path.expanduser("~"), "nltk_data")  # noqa: PTH111 - Path.home raises where there is no home
    for prefix in (sys.prefix, Path(sys.prefix, "share"), Path(sys.prefix, "lib")):
        yield Path(prefix, "nltk_data")
    for system in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"):
        yield Path(system, "nltk_data")
    package = PathFinder.find_spec("llama_index")  # located without importing, which would load about fifty packages
    for place in (package.submodule_search_locations or ()) if package else ():
        yield Path(place) / _CARRIED
