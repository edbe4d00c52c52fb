"""Helpers of the end-to-end tests: a server under test, a client, a ledger. Standard library only."""
