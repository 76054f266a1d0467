"""The runtime of plans: the driver, its threads, control flow, and the body of fast calls.

The sources are in the language of `backend/kernel_compiler.py`; all numbers are int64. Python can't run them.
"""
