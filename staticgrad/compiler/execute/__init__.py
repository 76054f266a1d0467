"""Plans, and calling them."""
