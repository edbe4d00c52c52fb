"""Tests that need nothing but the standard library; those of test_with_server need a server (run_everywhere.py
starts one).
"""
