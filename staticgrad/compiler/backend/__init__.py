"""From source to machine code."""
