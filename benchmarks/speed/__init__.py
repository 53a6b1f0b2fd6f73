"""Throughput, CPU, memory and tokens."""
