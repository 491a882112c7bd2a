//! Frame of a drawing: background, axes, labels.

use super::Drawn;
use super::scale::Scale;
use crate::report::value::short;
use maud::{Markup, html};

/// Size of a drawing: no wider than a telephone's screen.
pub const WIDTH: f64 = 380.0;
pub const HEIGHT: f64 = 262.0;
pub const LEFT: f64 = 54.0;
pub const RIGHT: f64 = 368.0;
pub const TOP: f64 = 24.0;
pub const BOTTOM: f64 = 214.0;

/// Frame of a drawing: labels, the marks on the axes, and whether its background is hatched.
pub struct Frame<'a> {
    pub id: &'a str,
    pub words: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    /// Labels along the x axis with their places.
    pub marks: Vec<(String, f64)>,
    pub y_scale: &'a Scale,
    pub modelled: bool,
}

/// Additional height for turned labels.
const TURNED: f64 = 46.0;

/// Height of a second line of labels.
const SECOND: f64 = 11.0;

/// Approximate width of a letter.
const LETTER: f64 = 5.9;

impl Frame<'_> {
    /// Draws the frame around `inside`.
    pub fn around(&self, inside: &Markup) -> Drawn {
        let title = format!("{}-words", self.id);
        let turned = self.turned();
        let two = self
            .marks
            .iter()
            .any(|(text, _)| self.broken(text).is_some());
        let height = HEIGHT
            + match (turned, two) {
                (true, _) => TURNED,
                (false, true) => SECOND,
                _ => 0.0,
            };
        let svg = html! {
            svg.plot role="img" aria-labelledby=(title)
                viewBox=(format!("0 0 {WIDTH} {height}")) {
                title id=(title) { (self.words) }
                @if self.modelled {
                    rect x=(LEFT) y=(TOP) width=(RIGHT - LEFT) height=(BOTTOM - TOP)
                        fill="url(#hatch-ground)" {}
                }
                text.axis-name x="4" y="12" { (self.y) }
                @for tick in &self.y_scale.ticks {
                    @let y = round(self.y_scale.place(*tick));
                    line.grid x1=(LEFT) x2=(RIGHT) y1=(y) y2=(y) {}
                    text.tick x=(LEFT - 6.0) y=(round(y + 4.0)) text-anchor="end" { (short(*tick)) }
                }
                (inside)
                line.axis x1=(LEFT) x2=(RIGHT) y1=(BOTTOM) y2=(BOTTOM) {}
                @for (text, x) in self.shown(turned) {
                    @let x = round(x);
                    line.axis x1=(x) x2=(x) y1=(BOTTOM) y2=(BOTTOM + 4.0) {}
                    @if turned {
                        text.tick x=(x + 3.0) y=(BOTTOM + 14.0) text-anchor="end"
                            transform=(format!("rotate(-38 {} {})", x + 3.0, BOTTOM + 14.0)) { (text) }
                    } @else {
                    text.tick x=(x) y=(BOTTOM + 17.0) text-anchor="middle" {
                        @match self.broken(&text) {
                            Some((first, second)) => {
                                (first)
                                tspan x=(x) dy="11" { (second) }
                            },
                            None => (text),
                        }
                    }
                    }
                }
                text.axis-name x=(f64::midpoint(LEFT, RIGHT)) y=(height - 8.0) text-anchor="middle" {
                    (self.x)
                }
                @if self.modelled {
                    text.modelled-mark x=(RIGHT) y="12" text-anchor="end" { "modelled" }
                }
            }
        };
        Drawn {
            svg,
            width: WIDTH,
            height,
        }
    }

    /// Splits a label that is too long for one line: `samsung-`, `850-evo`.
    fn broken<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        let places = self.marks.iter().zip(self.marks.iter().skip(1));
        let room = places
            .map(|(one, other)| other.1 - one.1)
            .fold(f64::MAX, f64::min);
        let middle = text.len() / 2;
        let gaps = text.match_indices(['-', ' ', ',']).map(|(at, _)| at + 1);
        let gap = gaps.min_by_key(|at| at.abs_diff(middle))?;
        (width(text) > room - 3.0).then(|| text.split_at(gap))
    }

    /// Returns true if the labels along the x axis have to be turned, because they do not fit side by side even in two
    /// lines. Of numbers, some are left out instead.
    fn turned(&self) -> bool {
        let names = self
            .marks
            .iter()
            .any(|(text, _)| !text.starts_with(|c: char| c.is_ascii_digit()));
        names && self.shown(false).len() < self.marks.len()
    }

    /// Returns the labels along the x axis that fit side by side.
    fn shown(&self, turned: bool) -> Vec<(String, f64)> {
        if turned {
            return self.marks.clone();
        }
        let mut shown: Vec<(String, f64)> = Vec::new();
        let mut free = f64::MIN;
        for (text, x) in &self.marks {
            let lines = self
                .broken(text)
                .map_or([text.as_str(), ""], |(a, b)| [a, b]);
            let half = lines.into_iter().map(width).fold(0.0, f64::max) / 2.0;
            if x - half > free {
                free = x + half + 2.0;
                shown.push((text.clone(), *x));
            }
        }
        shown
    }
}

/// Returns the approximate width of `text`.
pub fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// Rounds a coordinate to a tenth of a unit.
pub fn round(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}
