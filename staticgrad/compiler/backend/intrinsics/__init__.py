"""Routines that generated kernels and the kernel library call."""
