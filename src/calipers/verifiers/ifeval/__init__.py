"""IFEval (Zhou et al., arXiv 2311.07911): instructions that code can check, and a report over a data set."""

from calipers.verifiers.ifeval.instructions import INSTRUCTION_IDS, Instruction, check, instruction

__all__ = ["INSTRUCTION_IDS", "Instruction", "check", "instruction"]
