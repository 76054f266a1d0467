"""From a fused group to the source of its kernel."""
