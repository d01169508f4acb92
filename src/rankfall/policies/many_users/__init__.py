"""Policies for many users: who shares a model with whom, and what a new user starts from.

Each of them takes a linear policy, which says how one model ranks and learns, and keeps models of that kind.
"""
