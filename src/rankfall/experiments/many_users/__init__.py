"""Simulations of many users who come one after the other, in any order."""
