"""Compiled functions whose Python needs values: the operations between two of these are one plan, a segment."""
