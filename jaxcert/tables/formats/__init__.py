"""Files that other tools wrote: recognised by what they hold, read into returns, and refused where they changed."""

from jaxcert.tables.formats._folder import folder_digest, read_folder
from jaxcert.tables.formats._registry import FORMATS, read_content

__all__ = ["FORMATS", "folder_digest", "read_content", "read_folder"]
