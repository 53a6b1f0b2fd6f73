"""Every option of a judge: its default, its check, its names in Python and in files, and whether runs record it."""

from calipers.config.grouped_options import Calls, Criteria, Defence, Panel, Question, Records, Resolution, Reward
from calipers.config.options import JudgeOptions

__all__ = ["Calls", "Criteria", "Defence", "JudgeOptions", "Panel", "Question", "Records", "Resolution", "Reward"]
