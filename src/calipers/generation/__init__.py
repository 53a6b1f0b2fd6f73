"""Responses to a file of prompts: read, sampled n times, stored as they arrive, written in the form that the next step
needs.

``prompts`` reads, ``sampling`` asks, ``response_file`` stores, ``forms`` writes; ``models`` finds the model, ``engine``
is vLLM in this process, ``merging`` makes a model of an FSDP checkpoint. Not responsible for judging the responses.
"""
