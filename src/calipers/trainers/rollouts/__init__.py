"""Rollouts of trainers as trajectories: messages, images, references, thoughts."""

from calipers.trainers.rollouts.messages import (
    K,
    answers,
    context_of,
    places,
    rubric_with_reference,
    said,
)

__all__ = [
    "K",
    "answers",
    "context_of",
    "places",
    "rubric_with_reference",
    "said",
]
