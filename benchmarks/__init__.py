"""What calipers costs and how well it reads, measured: ``python -m benchmarks`` lists and runs it all."""
