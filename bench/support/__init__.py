"""Helpers of the benchmarks: a server, peers, and rows of the table. Standard library only."""
