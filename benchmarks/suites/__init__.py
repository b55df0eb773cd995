"""Fixed lists of tasks: what their certificates give away, and how often they fail."""
