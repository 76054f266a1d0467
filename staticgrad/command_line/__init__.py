"""The command line: `staticgrad` and `python -m staticgrad`."""
