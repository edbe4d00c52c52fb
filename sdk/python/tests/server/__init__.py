"""Tests of the SDK against a real server: pytest, and the harness of tests/support."""
