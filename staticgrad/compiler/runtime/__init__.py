"""What runs plans: the driver, its threads, loops and branches, and the body of calls.

Written in the language of `runtime_compiler.py`, in which all numbers are int64; nothing here can be run by Python itself.
"""
