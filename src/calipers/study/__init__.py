"""What a judge's biases, noise and failures do to the policy that it rewards.

``profiles`` holds judges' measured characters; ``simulation`` simulates GRPO in seconds on a policy with known
gradients. Importing this package imports nothing heavy.
"""
