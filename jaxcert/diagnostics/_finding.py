"""What a check finds."""

from typing import NamedTuple


class Finding(NamedTuple):
    """A likely mistake in the data or the settings.

    Attributes:
        name: of the check; the page on usual mistakes has a section of that name.
        message: what was found and what to do, in words.
    """

    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.message} [{self.name}]"
