"""Folders of Parquet files with more rollouts than memory holds, read as a summary."""

from jaxcert.tables.folders._read_summary import read_summary

__all__ = ["read_summary"]
