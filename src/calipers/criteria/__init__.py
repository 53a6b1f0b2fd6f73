"""Criteria that a model writes for a prompt: what the writer is asked, what of its reply is used, what a judge gets.

The writer sees the prompt and a reference, and never an answer of the group that is judged by its criteria. Pure: not
responsible for asking the writer (``judging.task_criteria``), or for criteria of a user (``rubric``).
"""
