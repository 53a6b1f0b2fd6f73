"""The doctor: tests a judge before a run, in under a minute, with some thirty short questions.

A judge that passes can distinguish clearly good answers from clearly bad ones, follows the output format and resists
prompt injection.
"""

from calipers.doctor.checks import Check, Diagnosis
from calipers.doctor.examination import diagnose

__all__ = ["Check", "Diagnosis", "diagnose"]
