"""Pictures of reports that ckpttop has made of samples.

Reads and writes: reports; an SVG file of some of their plots side by side; a PNG file of a page.
Never: draws what a report does not show.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import unescape
from itertools import count
from pathlib import Path
from xml.sax.saxutils import escape

# The three of the article of 2009, from top to bottom.
FIGURES = ("throughput", "commands", "device-operations")
WIDTH, HEIGHT, GAP, TITLE, LEGEND = 960, 250, 24, 50, 44
# Large, because the whole is shown at a third of its size.
RULES = """text { font-family: 'DejaVu Sans', Verdana, sans-serif; fill: var(--text); }
.plot text { font-size: 22px; } .head { font-size: 36px; font-weight: bold; } .row { font-size: 32px; font-weight: bold; }
.name { font-size: 26px; } .line { stroke-width: 3; } .ground { fill: var(--page); }
"""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def figure(page, name):
    """Title, legend (sign and name of each series) and what is drawn of a figure."""
    body = re.search(rf'<figure id="{name}">(.*?)</figure>', page, re.S)[1]
    title = re.search(r"<h2>(.*?)</h2>", body)[1]
    drawn = re.search(r'<svg class="plot"[^>]*>(.*)</svg>', body, re.S)
    legend = re.findall(r"<li><svg[^>]*>(.*?)</svg>([^<]*)", body)
    return title, [(sign, text.strip()) for sign, text in legend], drawn[1] if drawn else ""


def side_by_side(reports, out):
    """One SVG: a column per report (title, file), a row per figure. The scales are each plot's own."""
    pages = [(title, path.read_text()) for title, path in reports]
    style = re.search(r"<style>(.*?)</style>", pages[0][1], re.S)[1]
    width = len(pages) * (WIDTH + GAP)
    drawn, y = [], 50
    for column, (title, _) in enumerate(pages):
        drawn.append(f'<text class="head" x="{column * (WIDTH + GAP) + WIDTH / 2}" y="36" text-anchor="middle">{escape(title)}</text>')
    for name in FIGURES:
        found = [figure(page, name) for _, page in pages]
        drawn.append(f'<text class="row" x="4" y="{y + 32}">{found[0][0]}</text>')
        x, y = 4, y + TITLE
        signs = {text: sign for _, legend, _ in found for sign, text in legend}
        for text, sign in signs.items():
            length = 80 + 15 * len(unescape(text))
            if x + length > width:
                x, y = 4, y + LEGEND
            drawn.append(f'<g transform="translate({x} {y}) scale(2)">{sign}</g><text class="name" x="{x + 54}" y="{y + 21}">{text}</text>')
            x += length
        y += LEGEND
        for column, (_, _, plot) in enumerate(found):
            drawn.append(f'<g class="plot" transform="translate({column * (WIDTH + GAP)} {y})">{sparse(plot)}</g>')
        y += HEIGHT
    # Titles are for the mouse, which an image on a page never meets.
    text = re.sub(r"<title>.*?</title>", "", "\n".join(drawn), flags=re.S)
    out.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width // 2}" height="{y // 2}">\n'
                   f'<style>{style}{RULES}</style>\n<rect class="ground" width="{width}" height="{y}"/>\n{text}\n</svg>\n')


def sparse(plot):
    """One in three of the times below: the others would stand over each other."""
    number = count()
    return re.sub(r'<text class="x".*?</text>', lambda found: "" if next(number) % 3 else found[0], plot)


def screenshot(report, png, width=960, height=900):
    """The upper part of a page, as a browser shows it."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("run: no picture: there is no chromium")
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--force-device-scale-factor=1", "--blink-settings=preferredColorScheme=1", f"--user-data-dir={home}",
             f"--window-size={width},{height}", f"--screenshot={Path(png).resolve()}", f"file://{report.resolve()}"],
            env={**os.environ, "HOME": home}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"run: no picture: {done.stderr}")
