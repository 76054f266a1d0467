"""Programs for those who work on staticgrad; no part of the package."""
