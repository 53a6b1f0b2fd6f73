"""Generates responses to a file of prompts: n samples each, stored as they arrive, written for the next step.

``prompts`` reads the prompts, ``sampling`` samples responses, ``response_file`` stores them, ``forms`` writes them.
``models`` finds the model, ``engine`` is vLLM in this process, ``merging`` converts an FSDP checkpoint to a model. Not
responsible for judging the responses.
"""
