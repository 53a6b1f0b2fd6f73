"""What trainers' adapters cost, and what a missing reward does to advantages."""
