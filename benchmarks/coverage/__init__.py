"""How often bounds and certificates fail, by simulation where the truth is exact."""
