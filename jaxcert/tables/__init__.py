"""From what people have to labelled returns: files, folders and frames of any origin, by the roles of their columns."""

from jaxcert.tables._aligned import align_tasks
from jaxcert.tables._frames import from_frame, from_lists, from_xarray
from jaxcert.tables._read_summary import read_summary
from jaxcert.tables._readers import read_returns
from jaxcert.tables._returns import Returns, ReturnsFile
from jaxcert.tables._written import returns_facts, write_returns

__all__ = [
    "Returns",
    "ReturnsFile",
    "align_tasks",
    "from_frame",
    "from_lists",
    "from_xarray",
    "read_returns",
    "read_summary",
    "returns_facts",
    "write_returns",
]
