"""Registering models. Not for scripts."""
