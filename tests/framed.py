"""Pages with files beside them, looked at in a browser at several widths, on screen and on paper."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from browser import visit

# Each page at each width in a frame, and what a look at it finds.
_FRAMES = """<!doctype html><title></title><script>
const found = {};
const seen = (page, width) => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 800; frame.style.border = 0;
  frame.onload = () => {
    const said = looks.flatMap(look => look(frame.contentDocument, width));
    if (said.length) found[page.split("/").pop() + " " + width] = said;
    frame.remove(); done();
  };
  frame.src = page; document.body.append(frame);
});
onload = async () => {
  for (const page of PAGES) for (const width of WIDTHS) await seen(page, width);
  document.title = encodeURIComponent(JSON.stringify(found));
};
const all = (page, selector) => Array.from(page.querySelectorAll(selector));
const shown = e => getComputedStyle(e).display !== "none" && e.getClientRects().length > 0;
const right = e => Math.round(e.getBoundingClientRect().right);
const beyond = (page, width, scrolled) => {
  const outside = all(page, ".md-content *").filter(e => right(e) > width + 1 && !scrolled(e.parentElement));
  const said = outside.map(e => `${right(e)} ${e.tagName} ${e.textContent.slice(0, 60)}`);
  const needed = page.documentElement.scrollWidth;
  return needed > width ? [...said, `${needed} the page`] : said;
};
const looks = [LOOKS];
</script><body>"""

# What lies beyond the right edge of the screen, unless a box of its own scrolls it there.
BEYOND_THE_EDGE = """(page, width) => {
  const scrolled = e => e && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolled(e.parentElement));
  return beyond(page, width, scrolled);
}"""

# On paper: what is cut off, which nothing scrolls there, and what is of use on a screen alone.
ON_PAPER = """(page, width) => {
  const print = rules => Array.from(rules).forEach(rule => {
    const queries = rule.media ? rule.media.mediaText.split(",") : [];
    const paper = queries.map(query => /screen/.test(query) ? "not all" : query.replace("print", "all"));
    if (rule.media) rule.media.mediaText = paper.join(",");
    if (rule.cssRules) print(rule.cssRules);
  });
  Array.from(page.styleSheets).forEach(sheet => print(sheet.cssRules));
  const hidden = e => /auto|scroll|hidden/.test(getComputedStyle(e).overflowX);
  const boxes = all(page, ".md-content :is(pre, code, div, p)");
  const cut = boxes.filter(e => e.scrollWidth > e.clientWidth + 1 && hidden(e));
  const buttons = ".md-header, .md-sidebar, .md-footer, .md-top, .md-code__nav, .md-clipboard, .headerlink";
  return [
    ...beyond(page, width, () => false),
    ...cut.map(e => `cut ${e.className} ${e.textContent.slice(0, 60)}`),
    ...all(page, buttons).filter(shown).map(e => `printed ${e.className}`),
  ];
}"""

# Figures at less than half of their size; in the dark those that are light, and pictures of other colours.
FIGURES = """page => {
  const filter = e => getComputedStyle(e).filter;
  const brightest = e => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 100;
    const context = canvas.getContext("2d");
    context.filter = filter(e);
    context.drawImage(e, 0, 0, 100, 100);
    const data = context.getImageData(0, 0, 100, 100).data;
    return Math.max(...[0, 1, 2].map(k => data.filter((x, i) => i % 4 === k).reduce((a, b) => a + b) / 1e4));
  };
  const name = e => e.src.split("/").pop();
  const figures = all(page, ".md-content img");
  const small = figures.filter(e => e.getBoundingClientRect().width < e.naturalWidth / 2 - 5);
  const changed = figures.filter(e => filter(e) !== "none");
  page.body.dataset.mdColorScheme = "slate";
  const wrong = figures.filter(e => e.matches(".picture") ? /invert|hue/.test(filter(e)) : brightest(e) > 90);
  page.body.dataset.mdColorScheme = "default";
  return [
    ...small.map(e => `small ${name(e)}`),
    ...changed.map(e => `changed ${name(e)}`),
    ...wrong.map(e => `in the dark ${name(e)}`),
  ];
}"""

# Printed lines that do not wrap, and columns that do.
PRINTED_LINES = """page => {
  const wraps = e => getComputedStyle(e).whiteSpace === "pre-wrap";
  const cut = all(page, ".language-text:not(.columns) code, .language-console code").filter(e => !wraps(e));
  const broken = all(page, ".columns code").filter(wraps);
  return [...cut, ...broken].map(e => `lines ${e.textContent.slice(0, 60)}`);
}"""


def looked_at(
    pages: Sequence[Path], folder: Path, widths: Sequence[int], *looks: str
) -> tuple[dict[str, list[str]], list[str]]:
    """What is found on pages, by name and width, and what they request of the network."""
    script = _FRAMES.replace("PAGES", json.dumps([page.resolve().as_uri() for page in pages]))
    script = script.replace("WIDTHS", json.dumps(list(widths))).replace("LOOKS", ", ".join(looks))
    around = folder / "around.html"
    around.write_text(script, encoding="utf-8")
    seen = visit(around, folder, "--hide-scrollbars", "--allow-file-access-from-files", "--virtual-time-budget=60000")
    found = re.search("<title>(.+)</title>", seen.dom)
    assert found, seen.console
    return json.loads(unquote(found[1])), seen.requests
