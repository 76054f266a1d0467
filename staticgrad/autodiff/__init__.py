"""Symbolic differentiation of graphs."""
