"""A real browser without a window, and what it asks of the network."""

import json
import re
import shutil
import socketserver
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

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


# Each page at each width in a frame: what is beyond the right edge, unless a box of its own may scroll it there.
_FRAMES = """<!doctype html><title></title><script>
const found = {};
const scrolls = e => e && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
const right = e => Math.round(e.getBoundingClientRect().right);
const look = (page, width) => {
  const parts = Array.from((page.querySelector(".md-content") || page.body).querySelectorAll("*"));
  const outside = parts.filter(e => right(e) > width + 1 && !(MAY_SCROLL && scrolls(e.parentElement)));
  const cut = MAY_SCROLL ? [] : parts.filter(e => e.matches("div, pre") && e.scrollWidth > e.clientWidth);
  const said = [...outside, ...cut].map(e => `${right(e)} ${e.tagName} ${e.textContent.slice(0, 60)}`);
  const needed = page.documentElement.scrollWidth;
  return needed > width ? [...said, `${needed} the page`] : said;
};
const seen = (page, width) => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 800; frame.style.border = 0;
  frame.onload = () => {
    const said = look(frame.contentDocument, width);
    if (said.length) found[page.split("/").pop() + " " + width] = said;
    frame.remove(); done();
  };
  frame.src = page; document.body.append(frame);
});
onload = async () => {
  for (const page of PAGES) for (const width of WIDTHS) await seen(page, width);
  document.title = encodeURIComponent(JSON.stringify(found));
};
</script><body>"""


def beyond_the_edge(
    pages: Sequence[Path], folder: Path, widths: Sequence[int], *, may_scroll: bool
) -> tuple[dict[str, list[str]], list[str]]:
    """What does not fit into screens of these widths, by page and width, and what the pages request of the network."""
    given = {"PAGES": [page.resolve().as_uri() for page in pages], "WIDTHS": list(widths), "MAY_SCROLL": may_scroll}
    around = folder / "around.html"
    around.write_text(re.sub("|".join(given), lambda name: json.dumps(given[name[0]]), _FRAMES), encoding="utf-8")
    seen = visit(around, folder, "--hide-scrollbars", "--allow-file-access-from-files", "--virtual-time-budget=60000")
    found = re.search("<title>(.+)</title>", seen.dom)
    assert found, seen.console
    return json.loads(unquote(found[1])), seen.requests


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
