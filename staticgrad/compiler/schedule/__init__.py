"""The order of kernels and calls, and the memory that results share."""
