"""How much of what known performances would certify is certified from rollouts."""
