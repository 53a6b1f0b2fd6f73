"""Records a study, and draws the documentation's figures and tables from records.

``python -m scripts.study_data record FOLDER NAME`` writes docs/study-data/NAME.json from the folder of a training
study; ``python -m scripts.study_data tables`` and ``draw`` write the tables and figures that follow from all records. A
test fails when a table is stale.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scripts.study_data.pictures import draw_all
from scripts.study_data.record import DATA, record_of, written
from scripts.study_data.tables import pages_with_tables

from calipers.errors import CalipersError


def main() -> int:
    """Run the command of the study's records, and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.study_data", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="write docs/study-data/NAME.json from a study's folder")
    record.add_argument("folder", type=Path)
    record.add_argument("name")
    record.add_argument("--without", action="append", default=[], metavar="CURVE", help="leave a curve out; repeatable")
    commands.add_parser("tables", help="write the tables in docs")
    commands.add_parser("draw", help="draw the figures of docs (needs matplotlib)")
    asked = parser.parse_args()
    try:
        match asked.command:
            case "record":
                path = DATA / f"{asked.name}.json"
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(written(record_of(asked.folder, asked.without)))
                print(f"{path}: {path.stat().st_size:,} bytes")
            case "tables":
                for page, text in pages_with_tables():
                    page.write_text(text, encoding="utf-8")
                    print(page)
            case "draw":
                for drawn in draw_all():
                    print(drawn)
    except CalipersError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
