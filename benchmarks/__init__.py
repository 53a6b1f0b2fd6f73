"""What calipers costs and how well it reads, measured: ``python -m benchmarks`` lists and runs it all."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))  # corpora and generators are shared with the tests
