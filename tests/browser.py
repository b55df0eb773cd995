"""A real browser without a window, and what it asks of the network."""

import html
import re
import shutil
import socketserver
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--disable-features=NetworkTimeServiceQuerying,OptimizationHints",
    "--enable-logging=stderr",
    "--virtual-time-budget=4000",
)
# What the browser asks for itself, whatever the page.
OWN = re.compile(
    r"\b(update\.googleapis|accounts\.google|clients\d?\.google|optimizationguide-pa\.googleapis)\.com[:/]"
)


class Visit(NamedTuple):
    """What a visit of a page left behind.

    Attributes:
        dom: the page as the browser understood it.
        console: lines of the console.
        requests: first lines of the requests to the network, which went to a proxy that answers none; without those
            that the browser makes for itself.
    """

    dom: str
    console: list[str]
    requests: list[str]


class _Proxy(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Recorder)
        self.requests: list[str] = []


class _Recorder(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        # A connection that is closed before a word names no address: the browser ends while it opens one of its own.
        if line := self.rfile.readline().decode("latin-1").strip():
            self.server.requests.append(line)  # type: ignore[attr-defined]


def visit(page: Path, folder: Path, *options: str) -> Visit:
    """Open a page from the disk, with a profile of its own in `folder`; skips without a browser."""
    with _Proxy() as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        offline = f"--proxy-server=127.0.0.1:{proxy.server_address[1]}"
        done = _run(folder, offline, *options, "--dump-dom", page.resolve().as_uri())
        proxy.shutdown()
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return Visit(done.stdout, console, [line for line in proxy.requests if not OWN.search(line)])


def needed_widths(page: Path, folder: Path, widths: Sequence[int]) -> list[int]:
    """The width that a page needs on screens of these widths, of which a window of its own may not be so narrow.

    With what is seen only when a part of it is scrolled to the side.
    """
    text = html.escape(page.read_text(encoding="utf-8"))
    frames = "".join(
        f'<iframe width="{width}" height="800" frameborder="0" srcdoc="{text}"></iframe>' for width in widths
    )
    script = (
        "<script>const most = parts => Math.max(0, ...Array.from(parts, e => e.scrollWidth - e.clientWidth));"
        "onload = () => { document.title = Array.from(frames, f => f.document.documentElement.scrollWidth"
        " + most(f.document.querySelectorAll('div, pre'))) }"
    )
    around = folder / "around.html"
    around.write_text(f"<!doctype html><title></title>{frames}{script}</script>", encoding="utf-8")
    found = re.search("<title>([0-9,]+)</title>", visit(around, folder, "--hide-scrollbars").dom)
    assert found
    return [int(width) for width in found[1].split(",")]


def printed_pages(page: Path, folder: Path) -> int:
    """On how many pages of paper a page is printed."""
    file = folder / "printed.pdf"
    _run(folder, "--no-pdf-header-footer", f"--print-to-pdf={file}", page.resolve().as_uri())
    return len(re.findall(rb"/Type\s*/Page\b", file.read_bytes()))


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("needs a browser: chromium or google-chrome")
    command = [program, *QUIET, f"--user-data-dir={folder / 'profile'}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
