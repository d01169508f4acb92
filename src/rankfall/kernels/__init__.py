"""Compiled loops: arrays in, arrays out. They trust their callers and import nothing of ours.

The plain NumPy form of each kernel is its specification and lives in the tests.
"""
