"""Shadow mode: a judge scores a run's groups beside today's reward, off the path, before anyone switches to it.

``Shadow`` judges and records, ``trl.shadowed`` and ``verl.ShadowManager`` connect it to a trainer, ``comparison`` says
what the advantages would have been.
"""

from calipers.trainers.shadow.recording import Shadow

__all__ = ["Shadow"]
