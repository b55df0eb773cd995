"""The pictures of docs/gallery.md, made by the code of that page.

    python -m benchmarks.gallery [--out docs/gallery]

Every block of Python runs in the folder of the pictures, one after the other as in one session.
"""

import contextlib
import re
from pathlib import Path

from benchmarks._common import parser

PAGE = Path(__file__).parents[1] / "docs" / "gallery.md"


def code() -> str:
    """All blocks of Python of the page, each at its line, so that an error names the place."""
    text = PAGE.read_text(encoding="utf-8")
    lines = [""] * text.count("\n")
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        first = text[: block.start(1)].count("\n")
        inside = block[1].splitlines()
        lines[first : first + len(inside)] = inside
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    options = parser("gallery", __doc__)
    options.add_argument("--out", type=Path, default=PAGE.parent / "gallery", help="the folder of the pictures")
    out = options.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(out):
        exec(compile(code(), PAGE, "exec"), {"__name__": "__main__"})
    print(*sorted(path.name for path in out.glob("*.png")))


if __name__ == "__main__":
    main()
