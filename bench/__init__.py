"""Benchmarks: `make bench-engine`."""
