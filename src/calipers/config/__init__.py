"""Every option of a judge: its default, its check, its names in Python and in files, and whether runs record it."""

from calipers.config.criteria_options import Criteria
from calipers.config.options import JudgeOptions
from calipers.config.question_options import Calls, Defence, Question, Records
from calipers.config.score_options import Panel, Resolution, Reward

__all__ = ["Calls", "Criteria", "Defence", "JudgeOptions", "Panel", "Question", "Records", "Resolution", "Reward"]
