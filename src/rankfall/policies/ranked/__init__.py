"""Ranked bandits: one bandit for each position, which learns what adds most to the positions above it."""
