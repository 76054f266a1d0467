"""The page of a comparison: what it shows as data, and the scripts and styles that show it."""
