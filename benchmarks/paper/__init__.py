"""The paper's discrete experiments, from rollouts to figures, beside the exact safety."""
