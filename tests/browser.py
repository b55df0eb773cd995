"""A real browser without a window, and what it asks of the network."""

import re
import shutil
import socketserver
import subprocess
import threading
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
        self.server.requests.append(self.rfile.readline().decode("latin-1").strip())  # type: ignore[attr-defined]


def visit(page: Path, folder: Path, *options: str) -> Visit:
    """Open a page from the disk, with a profile of its own in `folder`; skips without a browser."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("needs a browser: chromium or google-chrome")
    with _Proxy() as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        profile = (f"--user-data-dir={folder / 'profile'}", f"--proxy-server=127.0.0.1:{proxy.server_address[1]}")
        command = [program, *QUIET, *profile, *options, "--dump-dom", page.resolve().as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        proxy.shutdown()
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return Visit(done.stdout, console, [line for line in proxy.requests if not OWN.search(line)])
