"""Hand-written kernels of the plan: products, copies, gathers. `jit.library` compiles them like generated ones.

What follows the line `# kernels` is the source; what precedes it is for tools that read the file on its own.
"""
