"""Passes from graph to graph."""
