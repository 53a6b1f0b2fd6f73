"""IFEval (Zhou et al., arXiv 2311.07911): 25 kinds of instruction that code can check, and the report over a data set.

``mode="official"`` gives the verdicts of Google's checker, ``mode="fixed"`` mends its known faults. Reading files and
printing are the command line's business.
"""

from calipers.verifiers.ifeval.instructions import INSTRUCTION_IDS, Instruction, check, instruction
from calipers.verifiers.ifeval.rule import Mode

__all__ = ["INSTRUCTION_IDS", "Instruction", "Mode", "check", "instruction"]
