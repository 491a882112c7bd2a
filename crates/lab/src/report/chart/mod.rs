//! Drawings as SVG that follow the page's style sheet: colours are its variables, and modelled values are hatched.
//!
//! They are written with maud instead of plotters, whose SVG has fixed colours and sizes, and no classes, patterns or
//! texts for a screen reader.

mod bars;
mod colour;
mod frame;
mod legend;
mod lines;
mod marker;
mod scale;
mod tiles;

use super::figure::{Drawing, Panel, ReportFigure, Style};
use maud::{Markup, Render, html};

pub use colour::Colours;
pub use frame::{WIDTH, width};
pub use legend::{keys, legend};

/// Style rules of drawings: colours for light and dark backgrounds, lines, text.
pub const STYLE: &str = include_str!("chart.css");

/// A drawing with its size before scaling.
pub struct Drawn {
    pub svg: Markup,
    pub width: f64,
    pub height: f64,
}

impl Render for Drawn {
    fn render_to(&self, buffer: &mut String) {
        self.svg.render_to(buffer);
    }
}

/// Draws `panel`; ids in it begin with `id`.
pub fn draw(panel: &Panel, colours: &Colours, id: &str, words: &str) -> Drawn {
    match &panel.drawing {
        Drawing::Tiles(tiles) => tiles::draw(tiles, colours, id, words),
        Drawing::Xy(xy) => match xy.style {
            Style::Lines | Style::Scatter | Style::Curve => lines::draw(xy, colours, id, words),
            Style::Bars | Style::Stacked => bars::draw(xy, colours, id, words),
        },
    }
}

/// Returns definitions that every drawing of a page refers to: a hatch for each colour, and one for the background of
/// modelled drawings.
pub fn definitions() -> Markup {
    html! {
        svg.definitions aria-hidden="true" width="0" height="0" { (patterns()) }
    }
}

/// Returns the definitions for use within a drawing.
pub fn patterns() -> Markup {
    html! {
            defs {
                pattern #hatch-ground width="7" height="7" patternUnits="userSpaceOnUse"
                    patternTransform="rotate(45)" {
                    line.hatch-ground x1="0" y1="0" x2="0" y2="7" {}
                }
                pattern #hatch-key width="4" height="4" patternUnits="userSpaceOnUse"
                    patternTransform="rotate(45)" {
                    line.hatch-ground x1="1" y1="0" x2="1" y2="4" {}
                }
                @for index in 0..colour::COUNT {
                    pattern id=(format!("hatch-{index}")) width="5" height="5"
                        patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                        rect class=(format!("fill-{index}")) width="5" height="5" opacity="0.35" {}
                        line class=(format!("stroke-{index}")) x1="0" y1="0" x2="0" y2="5"
                            stroke-width="4" {}
                    }
                }
            }
    }
}

/// Describes in one sentence what `figure` draws, for a screen reader.
pub fn describe(figure: &ReportFigure, panel: &Panel) -> String {
    let modelled = if figure.modelled { " Modelled." } else { "" };
    let of = match panel.title.is_empty() {
        true => String::new(),
        false => format!(", {}", panel.title),
    };
    let what = match &panel.drawing {
        Drawing::Tiles(tiles) => {
            let kind = match tiles.difference {
                true => "difference of",
                false => "best by",
            };
            format!(
                "{kind} {} for each {} and {}",
                tiles.metric, tiles.columns.0, tiles.rows.0
            )
        }
        Drawing::Xy(xy) => {
            let names: Vec<&str> = xy
                .series
                .iter()
                .map(|series| series.name.as_str())
                .collect();
            let by = match names.as_slice() {
                [] | [""] => String::new(),
                names => format!(" for {}", names.join(", ")),
            };
            format!("{} over {}{by}", xy.y, xy.x.label)
        }
    };
    format!("{}: {}{of}: {what}.{modelled}", figure.id, figure.title)
}
