"""Calls of eager mode that recur: which of them have a route or a plan, and the tables in which these are kept."""
