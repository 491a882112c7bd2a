//! Figures as one self-contained drawing: one or two columns below the text about the runs.

use super::{Plot, PlotGroup};
use crate::report::chart::{self, Colours};
use crate::report::figure::{Panel, ReportFigure};
use crate::report::words;
use maud::{Markup, PreEscaped, html};

/// XML namespace of SVG.
const XMLNS: &str = "http://www.w3.org/2000/svg";

/// Margin around everything.
const EDGE: f64 = 20.0;

/// Distance between two columns.
const GAP: f64 = 28.0;

/// Height of a line of text.
const LINE: f64 = 16.0;

/// Distance below a figure.
const BELOW: f64 = 18.0;

/// Total width.
const WIDE: f64 = 2.0 * chart::WIDTH + GAP + 2.0 * EDGE;

/// Width between the margins.
const INNER: f64 = WIDE - 2.0 * EDGE;

/// Style rules in addition to those of figures.
const STYLE: &str = "\
svg { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif; }
.paper { fill: var(--bg); }
.title { font-size: 17px; font-weight: 600; }
.heading { font-size: 13px; font-weight: 600; }
.words { fill: var(--muted); }
.strong { font-weight: 600; }
";

/// A part of the drawing with its height.
type Block = (Markup, f64);

/// Kind of a line of text.
#[derive(Clone, Copy)]
enum Words {
    Plain,
    Strong,
    Heading,
}

impl Words {
    /// Returns the CSS class, and the width of a letter relative to plain text.
    fn style(self) -> (&'static str, f64) {
        match self {
            Words::Plain => ("words", 1.0),
            Words::Strong => ("strong", 1.2),
            Words::Heading => ("heading", 1.4),
        }
    }
}

/// Returns the figures of `plot` as the text of an SVG file.
pub fn svg(plot: &Plot) -> String {
    let mut blocks = vec![head(plot)];
    for (nth, group) in plot.groups.iter().enumerate() {
        blocks.push(group_heading(group));
        blocks.extend(rows(group, nth));
    }
    let (inside, height) = stack(blocks);
    let height = height + 2.0 * EDGE;
    let drawing = html! {
        svg xmlns=(XMLNS) viewBox=(format!("0 0 {WIDE} {height}")) width=(WIDE) height=(height) role="img" {
            title { (plot.title) }
            style { (PreEscaped(chart::STYLE)) (PreEscaped(STYLE)) }
            (chart::patterns())
            rect.paper width=(WIDE) height=(height) {}
            g transform=(format!("translate({EDGE} {EDGE})")) { (inside) }
        }
    };
    legal(&drawing.into_string())
}

/// Replaces characters of `text` that XML does not allow.
fn legal(text: &str) -> String {
    let illegal = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    text.replace(illegal, "\u{fffd}")
}

/// Puts blocks below each other.
fn stack(blocks: Vec<Block>) -> Block {
    let tops = blocks.iter().scan(0.0, |end, (_, height)| {
        let top = *end;
        *end += height;
        Some(top)
    });
    let tops: Vec<f64> = tops.collect();
    let height = blocks.iter().map(|(_, height)| height).sum();
    let placed = html! {
        @for ((block, _), top) in blocks.iter().zip(tops) {
            g transform=(format!("translate(0 {top})")) { (block) }
        }
    };
    (placed, height)
}

fn head(plot: &Plot) -> Block {
    let title = html! { text.title x="0" y="14" { (plot.title) } };
    let mut blocks = vec![(title, 26.0)];
    let about = plot.about.iter();
    blocks.extend(about.map(|line| lines(line, Words::Plain, INNER)));
    if plot.is_modelled() {
        let line = "Everything here is modelled: computed from profiles of a machine and its devices, not measured.";
        blocks.push(lines(line, Words::Strong, INNER));
    }
    stack(blocks)
}

/// Returns the text on the machine and devices of a group's runs.
fn group_heading(group: &PlotGroup) -> Block {
    let on = format!("{}, {}", words::platform(group.platform), group.machine);
    let mut blocks = vec![lines(&on, Words::Plain, INNER)];
    let apart = group.apart.iter();
    blocks.extend(apart.map(|line| lines(line, Words::Plain, INNER)));
    let (words, height) = stack(blocks);
    (words, height + BELOW)
}

/// Arranges the figures of a group: two with one panel each side by side, others over the whole width.
fn rows(group: &PlotGroup, nth: usize) -> Vec<Block> {
    let mut rows: Vec<Block> = Vec::new();
    let mut open: Option<[Block; 2]> = None;
    for figure in &group.figures {
        let id = format!("g{nth}-{}", figure.id);
        if figure.panels.len() > 1 {
            rows.extend(open.take().map(|left| stack(left.into())));
            rows.push(stack(drawn(figure, &id, 2).into()));
            continue;
        }
        let here = drawn(figure, &id, 1);
        open = match open.take() {
            Some(left) => {
                rows.push(beside(left, here));
                None
            }
            None => Some(here),
        };
    }
    rows.extend(open.map(|left| stack(left.into())));
    rows
}

/// Puts two figures side by side, with their panels at the same height.
fn beside(left: [Block; 2], right: [Block; 2]) -> Block {
    let top = left[0].1.max(right[0].1);
    let high = top + left[1].1.max(right[1].1);
    let level = |[(head, _), body]: [Block; 2]| stack(vec![(head, top), body]).0;
    let both = html! {
        (level(left))
        g transform=(format!("translate({} 0)", chart::WIDTH + GAP)) { (level(right)) }
    };
    (both, high)
}

/// Draws a figure in `columns` columns: title and legend, and separately the panels and notes below them.
fn drawn(figure: &ReportFigure, id: &str, columns: usize) -> [Block; 2] {
    let wide = columns as f64 * chart::WIDTH + (columns - 1) as f64 * GAP;
    let colours = Colours::of(figure);
    let modelled = if figure.modelled { ", modelled" } else { "" };
    let title = format!("{} {}{modelled}", figure.id, figure.title);
    let mut head = vec![lines(&title, Words::Heading, wide)];
    for (boundary, source) in &figure.energy {
        let line = format!("energy within: {boundary}, by {source}");
        head.push(lines(&line, Words::Plain, wide));
    }
    head.push(legend(figure, &colours, wide));
    let mut body = Vec::new();
    for (row, panels) in figure.panels.chunks(columns).enumerate() {
        body.push(panels_of(figure, panels, id, row * columns, &colours));
    }
    let words = figure.problem.iter().chain(&figure.note);
    body.extend(words.map(|line| lines(line, Words::Plain, wide)));
    let (body, height) = stack(body);
    [stack(head), (body, height + BELOW)]
}

/// Arranges panels side by side.
fn panels_of(
    figure: &ReportFigure,
    panels: &[Panel],
    id: &str,
    first: usize,
    colours: &Colours,
) -> Block {
    let titles = panels
        .iter()
        .map(|panel| lines(&panel.title, Words::Strong, chart::WIDTH));
    let titles: Vec<Block> = titles.collect();
    let top = titles.iter().map(|(_, height)| *height).fold(0.0, f64::max);
    let drawn = panels.iter().enumerate().map(|(nth, panel)| {
        let words = chart::describe(figure, panel);
        let left = nth as f64 * (chart::WIDTH + GAP);
        let id = format!("{id}-{}", first + nth);
        (left, chart::draw(panel, colours, &id, &words))
    });
    let drawn: Vec<_> = drawn.collect();
    let height = drawn
        .iter()
        .map(|(_, drawn)| drawn.height)
        .fold(0.0, f64::max);
    let markup = html! {
        @for ((left, drawn), (title, _)) in drawn.iter().zip(&titles) {
            g transform=(format!("translate({} 2)", left + 4.0)) { (title) }
            svg x=(left) y=(top) width=(drawn.width) height=(drawn.height) { (drawn) }
        }
    };
    (markup, top + height + 8.0)
}

fn legend(figure: &ReportFigure, colours: &Colours, wide: f64) -> Block {
    let (mut x, mut y) = (0.0, 0.0);
    let mut placed = Vec::new();
    for key in chart::keys(figure, colours) {
        let room = 24.0 + chart::width(&key.words);
        if x > 0.0 && x + room > wide {
            (x, y) = (0.0, y + LINE);
        }
        placed.push((x, y, key));
        x += room + 14.0;
    }
    let markup = html! {
        @for (x, y, key) in placed {
            g transform=(format!("translate({x:.1} {y})")) {
                (key.sign)
                text x="23" y="10" { (key.words) }
            }
        }
    };
    let height = if x > 0.0 { y + LINE + 8.0 } else { 2.0 };
    (markup, height)
}

/// Draws `text` in as many lines as it needs; no line if it is empty.
fn lines(text: &str, words: Words, wide: f64) -> Block {
    let (class, letter) = words.style();
    let lines = broken(text, wide / letter);
    let markup = html! {
        @for (line, nth) in lines.iter().zip(0..) {
            text class=(class) x="0" y=(11.0 + LINE * f64::from(nth)) { (line) }
        }
    };
    let below = if lines.is_empty() { 0.0 } else { 2.0 };
    (markup, LINE * lines.len() as f64 + below)
}

/// Breaks `text` between words into lines no longer than `wide`.
fn broken(text: &str, wide: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if chart::width(line) + chart::width(word) + chart::width(" ") <= wide => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{broken, chart};

    #[test]
    fn lines_are_as_long_as_there_is_room() {
        let wide = chart::width("three or four ");
        let lines = broken("three or four words, indivisible", wide);
        assert_eq!(lines, ["three or four", "words,", "indivisible"]);
        assert!(broken("", wide).is_empty());
    }
}
