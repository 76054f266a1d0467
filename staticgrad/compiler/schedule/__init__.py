"""The order of the work, and where buffers lie."""
