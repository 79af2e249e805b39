//! A report in a real browser: it opens without a message on the console, and its plots are not
//! blank, in the light and in the dark.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::play::{figures, record, report};
use support::{Dir, text};

/// Each figure alone in a box of this size, in pixels, one below the other.
const WIDTH: usize = 1000;
const HEIGHT: usize = 420;

/// The browser, if there is one: it is 400 MB, too much to ask for.
fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("CKPTTOP_CHROMIUM").map(PathBuf::from);
    let known = [
        "/usr/bin/chromium",
        "/usr/bin/chromium-browser",
        "/usr/bin/google-chrome",
    ];
    let mut all = named.into_iter().chain(known.iter().map(PathBuf::from));
    let found = all.find(|path| path.exists());
    if found.is_none() {
        eprintln!(
            "left out: there is no chromium; install the package chromium, or name it with \
             CKPTTOP_CHROMIUM, to see the report tested in a browser"
        );
    }
    found
}

/// A picture of a page, and what the browser said.
fn picture(
    browser: &Path,
    dir: &Dir,
    page: &Path,
    theme: &str,
    height: usize,
) -> (Vec<[u8; 3]>, String) {
    let png = page.with_extension("png");
    let profile = dir.path().join("profile");
    let preferred = if theme == "dark" { 0 } else { 1 };
    let done = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            "--enable-logging=stderr",
        ])
        .arg(format!("--blink-settings=preferredColorScheme={preferred}"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--window-size={WIDTH},{height}"))
        .arg(format!("--screenshot={}", png.display()))
        .arg(format!("file://{}", page.display()))
        .env("HOME", dir.path())
        .output()
        .unwrap();
    let said = text(&done.stderr);
    assert!(done.status.success(), "{said}");
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&png).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!((info.width as usize, info.height as usize), (WIDTH, height));
    let samples = info.color_type.samples();
    let pixels = bytes
        .chunks(samples)
        .map(|pixel| [pixel[0], pixel[1], pixel[2]]);
    (pixels.collect(), said)
}

/// The page, with each figure in a box of its own and nothing else: no legend, no checkpoints and no
/// stalls, which have colours, too.
fn boxes(page: &str) -> String {
    let style = format!(
        "main {{ max-width: none; padding: 0; }} h1, .summary, section, footer, .legend, .write, \
         .sync, .stall, .arrow {{ display: none; }} \
         figure {{ height: {HEIGHT}px; margin: 0; overflow: hidden; }}</style>"
    );
    page.replacen("</style>", &style, 1)
}

/// How different two colours are.
fn distance(a: [u8; 3], b: [u8; 3]) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(b))).sum()
}

#[test]
fn plots_are_seen_in_light_and_dark() {
    let Some(browser) = chromium() else { return };
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    let page = report(&record(&dir, &segment, 4, &[]));
    let figures = figures(&page);
    let file = dir.path().join("boxes.html");
    std::fs::write(&file, boxes(&page)).unwrap();
    let mut backgrounds = Vec::new();
    for theme in ["light", "dark"] {
        let height = HEIGHT * figures.len();
        let (pixels, said) = picture(&browser, &dir, &file, theme, height);
        assert!(!said.contains("CONSOLE"), "{said}");
        let background = pixels[0];
        backgrounds.push(background);
        for (place, (id, _)) in figures.iter().enumerate() {
            let part = &pixels[place * HEIGHT * WIDTH..(place + 1) * HEIGHT * WIDTH];
            let mut colours: HashMap<[u8; 3], usize> = HashMap::new();
            for pixel in part {
                *colours.entry(*pixel).or_default() += 1;
            }
            // Lines and areas are coloured; text, axes and the page are nearly grey.
            let coloured =
                |pixel: &[u8; 3]| pixel.iter().max().unwrap() - pixel.iter().min().unwrap() > 60;
            let drawn: usize = colours
                .iter()
                .filter(|(c, _)| coloured(c))
                .map(|(_, n)| n)
                .sum();
            assert!(drawn > 400, "{theme}, {id}: {drawn} coloured pixels");
            // Text can be read.
            let text = colours
                .iter()
                .filter(|(c, _)| !coloured(c) && distance(**c, background) > 250);
            let text: usize = text.map(|(_, n)| n).sum();
            assert!(text > 300, "{theme}, {id}: {text} pixels of text");
        }
    }
    assert!(distance(backgrounds[0], [255; 3]) < 30, "{backgrounds:?}");
    assert!(distance(backgrounds[1], [0; 3]) < 120, "{backgrounds:?}");
}

#[test]
fn the_browser_keeps_the_page_as_it_was_written() {
    let Some(browser) = chromium() else { return };
    let dir = Dir::new();
    let segment = dir.server(5432, 1);
    let page = report(&record(&dir, &segment, 2, &[]));
    let file = dir.path().join("page.html");
    std::fs::write(&file, &page).unwrap();
    let done = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--dump-dom",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .arg(format!(
            "--user-data-dir={}",
            dir.path().join("profile").display()
        ))
        .arg(format!("file://{}", file.display()))
        .env("HOME", dir.path())
        .output()
        .unwrap();
    let dom = text(&done.stdout);
    for tag in [
        "<figure", "<table", "<section", "<path", "<rect", "<text", "<li",
    ] {
        assert_eq!(dom.matches(tag).count(), page.matches(tag).count(), "{tag}");
    }
}
