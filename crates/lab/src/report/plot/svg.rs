//! Figures as one drawing that needs no other file: a column or two of them, below the words about
//! the runs.

use super::{Plot, PlotGroup};
use crate::report::chart::{self, Colours};
use crate::report::figure::{Figure, Panel};
use crate::report::words;
use maud::{Markup, PreEscaped, html};

/// Name space of a drawing.
const XMLNS: &str = "http://www.w3.org/2000/svg";

/// Edge around everything.
const EDGE: f64 = 20.0;

/// Room between two columns.
const GAP: f64 = 28.0;

/// Height of a line of words.
const LINE: f64 = 16.0;

/// Room below a figure.
const BELOW: f64 = 18.0;

/// Width of everything.
const WIDE: f64 = 2.0 * chart::WIDTH + GAP + 2.0 * EDGE;

/// Rules beside those of the figures.
const STYLE: &str = "\
svg { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif; }
.paper { fill: var(--bg); }
.title { font-size: 17px; font-weight: 600; }
.heading { font-size: 13px; font-weight: 600; }
.panel-name { font-weight: 600; }
.words { fill: var(--muted); }
.strong { font-weight: 600; }
";

/// A part of the drawing, and its height.
type Block = (Markup, f64);

/// The figures of `plot` as the text of an SVG file.
pub fn svg(plot: &Plot) -> String {
    let mut blocks = vec![head(plot)];
    for (nth, group) in plot.groups.iter().enumerate() {
        blocks.push(told(group));
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

/// `text` without the characters that no XML may have.
fn legal(text: &str) -> String {
    let illegal = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    text.replace(illegal, "\u{fffd}")
}

/// Blocks below each other.
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
    let mut lines: Vec<(String, &str)> = Vec::new();
    for line in &plot.about {
        lines.extend(broken(line, WIDE - 2.0 * EDGE).map(|line| (line, "words")));
    }
    if plot.is_modelled() {
        let line = "Everything here is modelled: computed from profiles of a machine and its devices, not measured.";
        lines.push((line.to_owned(), "strong"));
    }
    let words = html! {
        text.title x="0" y="14" { (plot.title) }
        @for ((line, class), nth) in lines.iter().zip(0..) {
            text class=(class) x="0" y=(36.0 + LINE * f64::from(nth)) { (line) }
        }
    };
    (words, 34.0 + LINE * lines.len() as f64)
}

/// What the runs of a group were done on.
fn told(group: &PlotGroup) -> Block {
    let mut blocks = vec![told_lines(
        &format!("{}, {}", words::platform(group.platform), group.machine),
        WIDE - 2.0 * EDGE,
    )];
    let apart = group.apart.iter();
    blocks.extend(apart.map(|line| told_lines(line, WIDE - 2.0 * EDGE)));
    let (words, height) = stack(blocks);
    (words, height + BELOW)
}

/// Figures of a group: two of one panel beside each other, others the whole width.
fn rows(group: &PlotGroup, nth: usize) -> Vec<Block> {
    let mut rows: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    for figure in &group.figures {
        let id = format!("g{nth}-{}", figure.id);
        if figure.panels.len() > 1 {
            rows.extend(open.take());
            rows.push(drawn(figure, &id, 2));
            continue;
        }
        let block = drawn(figure, &id, 1);
        open = match open.take() {
            Some(left) => {
                rows.push(beside(left, block));
                None
            }
            None => Some(block),
        };
    }
    rows.extend(open);
    rows
}

fn beside(left: Block, right: Block) -> Block {
    let to = chart::WIDTH + GAP;
    let both = html! {
        (left.0)
        g transform=(format!("translate({to} 0)")) { (right.0) }
    };
    (both, left.1.max(right.1))
}

/// One figure: title, legend, panels, notes, in so many columns.
fn drawn(figure: &Figure, id: &str, columns: usize) -> Block {
    let wide = columns as f64 * chart::WIDTH + (columns - 1) as f64 * GAP;
    let colours = Colours::of(figure);
    let modelled = if figure.modelled { ", modelled" } else { "" };
    let title = html! {
        text.heading x="0" y="12" { (figure.id) " " (figure.title) (modelled) }
    };
    let mut blocks = vec![(title, 20.0)];
    let energy = figure.energy.iter();
    for (boundary, source) in energy {
        let line = format!("energy within: {boundary}, by {source}");
        blocks.push(told_lines(&line, wide));
    }
    blocks.push(legend(figure, &colours, wide));
    for (row, panels) in figure.panels.chunks(columns).enumerate() {
        blocks.push(panels_of(figure, panels, id, row * columns, &colours));
    }
    for line in figure.problem.iter().chain(&figure.note) {
        blocks.push(told_lines(line, wide));
    }
    let (markup, height) = stack(blocks);
    (markup, height + BELOW)
}

/// Panels beside each other.
fn panels_of(
    figure: &Figure,
    panels: &[Panel],
    id: &str,
    first: usize,
    colours: &Colours,
) -> Block {
    let named = panels.iter().any(|panel| !panel.title.is_empty());
    let top = if named { LINE + 6.0 } else { 0.0 };
    let drawn = panels.iter().enumerate().map(|(nth, panel)| {
        let words = chart::describe(figure, panel);
        let left = nth as f64 * (chart::WIDTH + GAP);
        let id = format!("{id}-{}", first + nth);
        (panel, left, chart::draw(panel, colours, &id, &words))
    });
    let drawn: Vec<_> = drawn.collect();
    let height = drawn
        .iter()
        .map(|(.., drawn)| drawn.height)
        .fold(0.0, f64::max);
    let markup = html! {
        @for (panel, left, drawn) in &drawn {
            @if named {
                text.panel-name x=(left + 4.0) y="13" { (panel.title) }
            }
            svg x=(left) y=(top) width=(drawn.width) height=(drawn.height) { (drawn) }
        }
    };
    (markup, top + height + 8.0)
}

fn legend(figure: &Figure, colours: &Colours, wide: f64) -> Block {
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
    (markup, y + LINE + 8.0)
}

/// `line` in as many lines as it needs.
fn told_lines(line: &str, wide: f64) -> Block {
    let lines: Vec<String> = broken(line, wide).collect();
    let markup = html! {
        @for (line, nth) in lines.iter().zip(0..) {
            text.words x="0" y=(10.0 + LINE * f64::from(nth)) { (line) }
        }
    };
    (markup, LINE * lines.len() as f64 + 2.0)
}

/// `text` broken between words where it is longer than `wide`.
fn broken(text: &str, wide: f64) -> impl Iterator<Item = String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && chart::width(line) + chart::width(word) + chart::width(" ") > wide {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.into_iter()
}
