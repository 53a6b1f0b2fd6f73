"""Every option of a judge: its default, its check, the names it goes by, and what a run keeps of it."""

from calipers.config.options import JudgeOptions
from calipers.config.question_options import Calls, Defence, Question, Records
from calipers.config.score_options import Panel, Resolution, Reward

__all__ = ["Calls", "Defence", "JudgeOptions", "Panel", "Question", "Records", "Resolution", "Reward"]
