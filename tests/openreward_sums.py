"""An environment of OpenReward: sums, and a tool that submits an answer. Import it only where openreward is installed.

Annotations are evaluated here, because OpenReward reads the types of a tool's arguments from them.
"""

from typing import Any

from openreward.environments import Environment, TextBlock, ToolOutput, tool
from pydantic import BaseModel


class Answer(BaseModel):  # type: ignore[misc]  # of a package that is not installed where types are checked
    answer: str


class Sums(Environment):  # type: ignore[misc]  # likewise
    @classmethod
    def list_splits(cls) -> list[str]:
        return ["train"]

    @classmethod
    def list_tasks(cls, split: str) -> list[Any]:
        return [{"id": f"{split} {number}", "problem": f" what is {number} + 1?"} for number in range(4)]

    def get_prompt(self) -> list[Any]:
        return [TextBlock(type="text", text=self.task_spec["problem"])]

    @tool
    async def submit(self, params: Answer) -> ToolOutput:
        """Submit the final answer."""
        return ToolOutput(blocks=[TextBlock(type="text", text=f"got {params.answer}")], reward=1.0, finished=True)
