"""What a call to a judge passes: retries, the bound on calls in flight, a budget, and a pause while it is down."""
