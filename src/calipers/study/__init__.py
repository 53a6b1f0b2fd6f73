"""What a judge's biases, noise and failures do to the policy that it rewards.

``profiles`` holds judges' measured characters; ``training`` trains a policy with GRPO, a tiny transformer or one with
known gradients. Importing this package imports nothing heavy.
"""
