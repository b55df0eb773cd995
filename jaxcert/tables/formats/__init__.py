"""Read results of other tools: recognise files by their content, and refuse unknown layouts."""

from jaxcert.tables.formats._folder import folder_digest, read_folder
from jaxcert.tables.formats._registry import formats, read_content

__all__ = ["folder_digest", "formats", "read_content", "read_folder"]
