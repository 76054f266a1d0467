"""From a schedule to the instructions of a plan."""
