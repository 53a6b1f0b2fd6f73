"""Judge profiles: a judge's measurable character in numbers, fitted from its answers, and a judge that has it.

``profile`` holds the numbers, ``files`` reads and writes them.
"""

from calipers.study.profiles.figures import Figure
from calipers.study.profiles.files import read_profile, write_profile
from calipers.study.profiles.profile import Profile

__all__ = ["Figure", "Profile", "read_profile", "write_profile"]
