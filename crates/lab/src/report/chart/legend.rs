//! Legend of a figure.

use super::colour::Colours;
use super::marker::{marker, printed};
use super::tiles::initial;
use crate::report::figure::{Drawing, ReportFigure, Style, Tie};
use maud::{Markup, html};

/// An entry of a legend: a symbol of 18 by 12 units, and its meaning.
pub struct Key {
    pub sign: Markup,
    pub words: String,
}

/// Makes the legend of `figure`, with its colours, shapes and backgrounds, as a list in HTML.
pub fn legend(figure: &ReportFigure, colours: &Colours) -> Markup {
    html! {
        ul.legend {
            @for key in keys(figure, colours) {
                li {
                    svg.key viewBox="0 0 18 12" aria-hidden="true" { (key.sign) }
                    (key.words)
                }
            }
        }
    }
}

/// Returns the entries of the legend of `figure`.
pub fn keys(figure: &ReportFigure, colours: &Colours) -> Vec<Key> {
    let xy = figure.panels.iter().find_map(|panel| match &panel.drawing {
        Drawing::Xy(xy) => Some(xy),
        Drawing::Tiles(_) => None,
    });
    let tiles = || {
        figure
            .panels
            .iter()
            .filter_map(|panel| match &panel.drawing {
                Drawing::Tiles(tiles) => Some(tiles),
                Drawing::Xy(_) => None,
            })
    };
    let ties = |tie: Tie| {
        tiles()
            .flat_map(|tiles| tiles.tiles())
            .any(|tile| tile.tie == tie)
    };
    let marks = || {
        xy.iter()
            .flat_map(|xy| &xy.series)
            .flat_map(|series| &series.marks)
    };
    let bars = xy.is_some_and(|xy| matches!(xy.style, Style::Bars | Style::Stacked));
    let all_modelled = figure.modelled && xy.is_none_or(|_| marks().all(|mark| mark.modelled));
    let best = tiles().any(|tiles| !tiles.difference);
    let mut keys = Vec::new();
    let mut key = |sign: Markup, words: String| keys.push(Key { sign, words });
    for (name, index) in colours.iter() {
        if name.is_empty() || !(xy.is_some() || best) {
            continue;
        }
        let sign = html! {
            @if best || bars {
                rect class=(format!("fill-{index}")) x="2" y="1" width="14" height="10" {}
            } @else {
                line class=(format!("line stroke-{index}")) x1="0" x2="18" y1="6" y2="6" {}
                (marker(index, (9.0, 6.0), false, name))
            }
        };
        let words = match best {
            true => format!("{} {name}", initial(name)),
            false => name.to_owned(),
        };
        key(sign, words);
    }
    if tiles().any(|tiles| tiles.difference) {
        key(
            html! { rect.fill-1 x="2" y="1" width="14" height="10" opacity="0.6" {} },
            "more".into(),
        );
        key(
            html! { rect.fill-0 x="2" y="1" width="14" height="10" opacity="0.6" {} },
            "less".into(),
        );
    }
    if ties(Tie::Noise) {
        key(
            html! { rect.tile.noise x="2" y="1" width="14" height="10" {} },
            "tie: by chance as large".into(),
        );
    }
    if ties(Tie::Band) {
        key(
            html! { rect.tile.doubtful.stroke-0 x="2" y="1" width="14" height="10" {} },
            "≈ tie: the model's bands overlap".into(),
        );
    }
    if marks().any(|mark| mark.published.is_some()) {
        key(
            printed(7, (9.0, 6.0), "published"),
            "published by the source".into(),
        );
    }
    if all_modelled {
        key(
            html! { rect.hatched x="2" y="1" width="14" height="10" fill="url(#hatch-key)" {} },
            "hatched: modelled, not measured".into(),
        );
    } else if figure.modelled {
        key(
            marker(7, (9.0, 6.0), true, "modelled"),
            "hollow or hatched: modelled, not measured".into(),
        );
    }
    if marks().any(|mark| mark.band.is_some()) {
        key(
            html! { rect.band.fill-7 x="0" y="1" width="18" height="10" {} },
            "shade: the model's band".into(),
        );
    }
    keys
}
