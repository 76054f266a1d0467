"""Which nodes become one kernel, and how it reads and writes them."""
