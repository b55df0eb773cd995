"""Zones: a point robot among coloured zones, whose tasks are reach-avoid formulas."""

__all__: list[str] = []
