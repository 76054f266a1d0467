"""Hand-written kernels of the plan: products, copies, gathers. `jit.library` compiles them like generated ones.

What follows the line `# kernels` is the source; what precedes it is for tools that read the file on its own. A kernel
is written once for all types: its name and its text have T where those of `gather_f32_8` have f32, and N for the 8.
"""
