"""Before a release is built: one version, its date in the changelog, nothing uncommitted, a tag that is free."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def faults(version: str, citation: str, changelog: str, uncommitted: str, tags: list[str]) -> list[str]:
    """What is wrong, in words."""
    cited = re.search(r"^version: *(\S+)", citation, re.MULTILINE)
    heading = re.search(r"^## (\S+) \((.*)\)", changelog, re.MULTILINE)
    found = []
    if cited is None or cited[1] != version:
        found.append(f"CITATION.cff has version {cited and cited[1]}; expected {version}, as jaxcert/_version.py")
    if heading is None or heading[1] != version or not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[2]):
        found.append(f"CHANGELOG.md begins with {heading and heading[0]!r}; expected '## {version} (YYYY-MM-DD)'")
    if uncommitted:
        found.append("changes are not committed")
    if f"v{version}" in tags:
        found.append(f"the tag v{version} exists; expected another version")
    return found


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    version = re.findall(r"\d+[.]\d+[.]\S*\d", (ROOT / "jaxcert/_version.py").read_text())[0]
    texts = [(ROOT / name).read_text() for name in ("CITATION.cff", "CHANGELOG.md")]
    sys.exit("\n".join(faults(version, *texts, _git("status", "--porcelain"), _git("tag").split())) or 0)
