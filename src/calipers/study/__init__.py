"""What a judge's biases, noise and failures do to the policy that it rewards.

``profiles`` holds judges' measured characters. Importing this package imports nothing heavy.
"""
