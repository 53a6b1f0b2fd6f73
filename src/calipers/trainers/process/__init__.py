"""What an adapter needs from its process: a single judge, a single event loop, the version of the installed engine."""
