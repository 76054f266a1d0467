"""Control flow: `cond`, `while_loop` and `scan`."""
