"""Folders of Parquet files with more rollouts than memory holds, read as a summary."""

from jaxcert.tables.folders._read_summary import ReturnsFolder, read_summary

__all__ = ["ReturnsFolder", "read_summary"]
