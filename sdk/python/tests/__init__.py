"""Tests of the SDK: unit/ runs on every Python found, with the standard library alone; server/ needs pytest."""
