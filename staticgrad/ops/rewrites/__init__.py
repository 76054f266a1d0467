"""Rewrite rules: data by which the compiler simplifies graphs."""
