"""What a judge's biases, noise and failures do to the policy that it rewards.

``profiles`` holds judges' measured characters; ``simulation`` simulates GRPO in seconds on a policy with known
gradients; ``training`` trains a tiny transformer with real GRPO. Importing this package imports nothing heavy.
"""
