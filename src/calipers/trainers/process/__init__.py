"""What an adapter needs of its process: a single judge, a single event loop, the version of the installed engine."""
