"""Observation of Python while a function is traced: the state that it reads and writes, and the calls it may not make.

A trace is a function of the state that it reads. Every read of an object that existed before the trace becomes a guard
(`tracing/guards.py`). Every write to one becomes an `Effect` (`tracing/effects.py`), which each run repeats. Calls that fit
neither - foreign random number generators, files, clocks - raise TraceError.
"""
