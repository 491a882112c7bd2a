//! Marks of series, with a shape for each colour.

use super::frame::round;
use maud::{Markup, html};

/// Draws the mark of colour `index` at a place, with `words` that are shown under the pointer; only its outline if
/// `hollow`.
pub fn marker(index: usize, (x, y): (f64, f64), hollow: bool, words: &str) -> Markup {
    let r = 3.6;
    let points = |corners: &[(f64, f64)]| -> String {
        let corners = corners.iter();
        let corners =
            corners.map(|(dx, dy)| format!("{},{}", round(x + dx * r), round(y + dy * r)));
        corners.collect::<Vec<_>>().join(" ")
    };
    let class = match hollow {
        true => format!("mark hollow stroke-{index}"),
        false => format!("mark fill-{index}"),
    };
    let corners: Option<&[(f64, f64)]> = match index % 6 {
        1 => Some(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => Some(&[(0.0, -1.3), (1.2, 0.9), (-1.2, 0.9)]),
        3 => Some(&[(0.0, -1.4), (1.3, 0.0), (0.0, 1.4), (-1.3, 0.0)]),
        4 => Some(&[(0.0, 1.3), (1.2, -0.9), (-1.2, -0.9)]),
        5 => Some(&[
            (-0.4, -1.2),
            (0.4, -1.2),
            (0.4, -0.4),
            (1.2, -0.4),
            (1.2, 0.4),
            (0.4, 0.4),
            (0.4, 1.2),
            (-0.4, 1.2),
            (-0.4, 0.4),
            (-1.2, 0.4),
            (-1.2, -0.4),
            (-0.4, -0.4),
        ]),
        _ => None,
    };
    html! {
        @match corners {
            Some(corners) => polygon class=(class) points=(points(corners)) { title { (words) } },
            None => circle class=(class) cx=(round(x)) cy=(round(y)) r=(r) { title { (words) } },
        }
    }
}

/// Draws the mark of a published value: a ring around a cross of the series' colour.
pub fn printed(index: usize, (x, y): (f64, f64), words: &str) -> Markup {
    let (x, y, r) = (round(x), round(y), 5.2);
    html! {
        g.printed {
            title { (words) }
            circle class=(format!("ring stroke-{index}")) cx=(x) cy=(y) r=(r) {}
            line class=(format!("stroke-{index}")) x1=(x - r) x2=(x + r) y1=(y) y2=(y) {}
            line class=(format!("stroke-{index}")) x1=(x) x2=(x) y1=(y - r) y2=(y + r) {}
        }
    }
}
