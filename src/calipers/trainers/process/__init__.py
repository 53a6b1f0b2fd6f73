"""What an adapter needs of the process it runs in: the judge, one event loop, which engine is installed."""
