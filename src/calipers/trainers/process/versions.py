"""Which versions of an engine an adapter was run beside, and a warning beside any other.

Engines are asked for their version and never imported. Not responsible for versions that cannot work: adapters refuse
those themselves, with what is missing.
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def warn_untested(package: str, *tested: str) -> None:
    """Warn, once a process, where the ``package`` installed here is of none of the ``tested`` versions ("0.11", major and minor).

    Says nothing where it is not installed, as for an engine that is run from its source.
    """
    try:
        found = version(package)
    except PackageNotFoundError:
        return
    numbers = re.match(r"(\d+)\.(\d+)", found)
    if numbers is None or f"{numbers[1]}.{numbers[2]}" not in tested:
        warnings.warn(
            f"{package} {found} is none of the versions that calipers' adapter was tested with ({', '.join(tested)}); "
            "look at the advantages of a few groups before you trust a run to it",
            stacklevel=3,
        )
