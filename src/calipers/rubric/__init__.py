"""What a judge grades by: text to read, or weighted criteria to check.

Not responsible for files (``readers``), for how criteria are put to a judge (``protocols``), or for which judge.
"""

from calipers.rubric.criteria import as_rubric, as_standards, check_rubric
from calipers.rubric.default import DEFAULT_RUBRIC
from calipers.rubric.grading import Grading
from calipers.types import Criterion, Rubric

__all__ = ["DEFAULT_RUBRIC", "Criterion", "Grading", "Rubric", "as_rubric", "as_standards", "check_rubric"]
