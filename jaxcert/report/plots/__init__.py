"""Plots that a paper can print: each draws in the axes that it is given, or in a new figure for one column."""
