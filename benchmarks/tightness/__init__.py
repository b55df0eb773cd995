"""How much of what could be certified is certified: by bounds and methods, levels, and numbers of rollouts."""
