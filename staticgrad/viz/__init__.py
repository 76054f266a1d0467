"""Drawings of graphs and comparisons of the modes."""
