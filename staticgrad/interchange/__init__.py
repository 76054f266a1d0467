"""Graphs and tensors in files."""
