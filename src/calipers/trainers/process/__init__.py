"""What an adapter needs of the process it runs in: one judge, one event loop, the engine that is installed."""
