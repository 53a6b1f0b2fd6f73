"""``python -m calipers`` is the ``calipers`` command."""

from calipers.cli import main

main()
