"""What a comparison's results came from, beside its TOML: the contents of profiles and files, and the code.

Not responsible for how these are found out (``study.provenance``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from calipers.study.comparison.study_file import Study
from calipers.study.provenance import file_digests, git_state, profiles_of, versions

FORMAT: Final = "calipers-comparison-study/1"


def made_with(study: Study) -> dict[str, Any]:
    """Return what a comparison's results come from, as an object that JSON can hold.

    ``profiles`` has the contents of the profiles that judges answer with, and ``files`` the SHA-256 of the groups, of
    files with standards and of rewritten answers, by the names that the TOML gives them.
    """
    settings = study.settings
    named = [one.rubric_file for one in settings.wordings.values()]
    named += [one.file for one in settings.own_rewrites.values()]
    return {
        "format": FORMAT,
        "profiles": profiles_of((), (judge.model for judge in settings.judges.values())),
        "files": file_digests(study.folder, [settings.groups, *filter(None, named)]),
        "versions": versions(("numpy",)),
        "git": git_state(Path.cwd()),
    }
