"""The paper's experiments, from rollouts to figures, beside the exact safety where that is known."""
