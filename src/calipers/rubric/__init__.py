"""The rubric that a judge grades by: text to read, or weighted criteria to check."""

from calipers.rubric.criteria import as_rubric, check_rubric, criteria_as_text
from calipers.rubric.grading import DEFAULT_RUBRIC, Grading
from calipers.types import Criterion, Rubric

__all__ = ["DEFAULT_RUBRIC", "Criterion", "Grading", "Rubric", "as_rubric", "check_rubric", "criteria_as_text"]
