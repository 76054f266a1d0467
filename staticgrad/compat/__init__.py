"""Dialects of other frameworks: their names and meanings, on this library's graphs."""
