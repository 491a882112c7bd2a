//! The legend of a figure.

use super::colour::Colours;
use super::marker::{marker, printed};
use super::tiles::initial;
use crate::report::figure::{Drawing, Figure, Style, Tie};
use maud::{Markup, html};

/// Legend of the colours, shapes and grounds of `figure`.
pub fn legend(figure: &Figure, colours: &Colours) -> Markup {
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
    html! {
        ul.legend {
            @for (name, index) in colours.iter() {
                @if !name.is_empty() && (xy.is_some() || best) {
                    li {
                        svg.key viewBox="0 0 18 12" aria-hidden="true" {
                            @if best || bars {
                                rect class=(format!("fill-{index}")) x="2" y="1" width="14" height="10" {}
                            } @else {
                                line class=(format!("line stroke-{index}")) x1="0" x2="18" y1="6" y2="6" {}
                                (marker(index, (9.0, 6.0), false, name))
                            }
                        }
                        @if best { (initial(name)) " " }
                        (name)
                    }
                }
            }
            @if tiles().any(|tiles| tiles.difference) {
                li { svg.key viewBox="0 0 18 12" aria-hidden="true" { rect.fill-1 x="2" y="1" width="14" height="10" opacity="0.6" {} } "more" }
                li { svg.key viewBox="0 0 18 12" aria-hidden="true" { rect.fill-0 x="2" y="1" width="14" height="10" opacity="0.6" {} } "less" }
            }
            @if ties(Tie::Noise) {
                li { svg.key viewBox="0 0 18 12" aria-hidden="true" { rect.tile.noise x="2" y="1" width="14" height="10" {} } "tie: by chance as large" }
            }
            @if ties(Tie::Band) {
                li { svg.key viewBox="0 0 18 12" aria-hidden="true" { rect.tile.doubtful.stroke-0 x="2" y="1" width="14" height="10" {} } "≈ tie: the model's bands overlap" }
            }
            @if marks().any(|mark| mark.published.is_some()) {
                li { svg.key viewBox="0 0 18 12" aria-hidden="true" { (printed(7, (9.0, 6.0), "published")) } "published by the source" }
            }
            @if all_modelled {
                li { svg.key viewBox="0 0 18 12" aria-hidden="true" { rect.hatched x="2" y="1" width="14" height="10" fill="url(#hatch-key)" {} } "hatched: modelled, not measured" }
            } @else if figure.modelled {
                li { svg.key viewBox="0 0 18 12" aria-hidden="true" { (marker(7, (9.0, 6.0), true, "modelled")) } "hollow or hatched: modelled, not measured" }
            }
            @if marks().any(|mark| mark.band.is_some()) {
                li { svg.key viewBox="0 0 18 12" aria-hidden="true" { rect.band.fill-7 x="0" y="1" width="18" height="10" {} } "shade: the model's band" }
            }
        }
    }
}
