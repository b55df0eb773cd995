"""Files that other tools wrote: recognised by what they hold, read into returns, and refused where they changed."""

from jaxcert.report.formats._folder import PLACE, read_folder
from jaxcert.report.formats._found_rollouts import Read
from jaxcert.report.formats._registry import FORMATS, read_content

__all__ = ["FORMATS", "PLACE", "Read", "read_content", "read_folder"]
