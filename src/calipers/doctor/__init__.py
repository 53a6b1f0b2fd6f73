"""What a judge can and cannot do, found out before a run: in under a minute, with some forty short questions.

Not responsible for agreement with people on real groups (``calibration``): a judge that passes here can tell plainly
good answers from plainly bad ones, keeps to the form and is not talked round, and no more than that.
"""

from calipers.doctor.diagnosis import Check, Diagnosis
from calipers.doctor.examination import diagnose
from calipers.doctor.several import Servers, diagnose_each

__all__ = ["Check", "Diagnosis", "Servers", "diagnose", "diagnose_each"]
