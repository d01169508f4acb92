"""Histories of a service: anything happens, in any order, and what its models must know then."""
