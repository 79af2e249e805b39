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
from pathlib import Path
from xml.sax.saxutils import escape

# The three of the article of 2009, from top to bottom.
FIGURES = ("throughput", "commands", "device-operations")
WIDTH, HEIGHT, GAP, TITLE, LEGEND = 960, 240, 24, 34, 24
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
    drawn, y = [], 40
    for column, (title, _) in enumerate(pages):
        drawn.append(f'<text class="head" x="{column * (WIDTH + GAP) + WIDTH / 2}" y="26" text-anchor="middle">{escape(title)}</text>')
    for name in FIGURES:
        found = [figure(page, name) for _, page in pages]
        drawn.append(f'<text class="row" x="4" y="{y + 22}">{found[0][0]}</text>')
        x = 4
        signs = {text: sign for _, legend, _ in found for sign, text in legend}
        for text, sign in signs.items():
            if x + 46 + 7.5 * len(unescape(text)) > width:
                x, y = 4, y + LEGEND
            drawn.append(f'<g transform="translate({x} {y + TITLE})">{sign}<text class="key" x="28" y="11">{text}</text></g>')
            x += 46 + 7.5 * len(unescape(text))
        y += TITLE + LEGEND
        for column, (_, _, plot) in enumerate(found):
            drawn.append(f'<g class="plot" transform="translate({column * (WIDTH + GAP)} {y})">{plot}</g>')
        y += HEIGHT + 10
    rules = "text { font-family: 'DejaVu Sans', Verdana, sans-serif; fill: var(--text); } .head { font-size: 22px; font-weight: bold; } " \
            ".row { font-size: 18px; font-weight: bold; } .key { font-size: 13px; } .ground { fill: var(--page); }"
    # Titles are for the mouse, which an image on a page never meets.
    text = re.sub(r"<title>.*?</title>", "", "\n".join(drawn), flags=re.S)
    out.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width // 2}" height="{y // 2}">\n'
                   f'<style>{style}{rules}</style>\n<rect class="ground" width="{width}" height="{y}"/>\n{text}\n</svg>\n')


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
