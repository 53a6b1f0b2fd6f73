"""The ``calipers`` command, also as ``python -m calipers``."""

import sys


def main() -> None:
    """Run the command. Ctrl-C while it is imported ends it as it ends a running command, but silently."""
    try:
        from calipers.cli import main as run  # noqa: PLC0415 - an interruption meanwhile is no traceback
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
