"""What judging and generating will cost, before anything is spent."""
