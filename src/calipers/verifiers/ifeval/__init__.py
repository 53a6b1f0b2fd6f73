"""IFEval (Zhou et al., arXiv 2311.07911): instructions that code can check, and a report over a data set.

Besides IFEval's 25 kinds there are the 29 further ones of open-instruct's IFEvalG and the 58 of IFBench.

``mode="official"`` gives the verdicts of Google's checker, ``mode="fixed"`` corrects its known faults. The command line
reads files and prints.
"""

from calipers.verifiers.ifeval.instructions import INSTRUCTION_IDS, Instruction, check, instruction
from calipers.verifiers.ifeval.rule import Mode

__all__ = ["INSTRUCTION_IDS", "Instruction", "Mode", "check", "instruction"]
