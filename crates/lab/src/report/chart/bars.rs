//! Bars side by side, and stacked bars.

use super::Drawn;
use super::colour::Colours;
use super::frame::{BOTTOM, Frame, LEFT, RIGHT, TOP, round, width};
use super::lines::{range, whisker, words_of};
use super::marker::printed;
use super::scale::Scale;
use crate::report::figure::{Mark, Series, Style, Xy};
use crate::report::value::short;
use maud::{Markup, html};

/// A bar: its series and mark, its place and width, and the heights at which it starts and ends.
struct Bar<'a> {
    series: &'a Series,
    mark: &'a Mark,
    left: f64,
    width: f64,
    from: f64,
    to: f64,
}

/// Largest width of a bar.
const WIDEST: f64 = 46.0;

pub fn draw(xy: &Xy, colours: &Colours, id: &str, words: &str) -> Drawn {
    let bars = bars(xy);
    let mut values: Vec<f64> = bars.iter().flat_map(|bar| [bar.from, bar.to]).collect();
    let marks = || xy.series.iter().flat_map(|series| &series.marks);
    if xy.style == Style::Bars {
        values.extend(
            marks()
                .filter_map(Mark::drawn_interval)
                .flat_map(|(a, b)| [a, b]),
        );
        values.extend(marks().filter_map(|mark| Some(mark.published?.0)));
        values.extend(marks().filter_map(|mark| Some(mark.band?.1)));
    }
    // Leaves room for the highest bar's value below the text at the top of the frame.
    let room = if xy.style == Style::Bars { 20.0 } else { 6.0 };
    let y_scale = Scale::of(&values, (BOTTOM, TOP + room), false);
    let modelled = marks().count() > 0 && marks().all(|mark| mark.modelled);
    let slot = slot(xy);
    let places = xy.x.values.iter().enumerate();
    let places =
        places.map(|(index, (text, _))| (text.clone(), LEFT + (index as f64 + 0.5) * slot));
    let frame = Frame {
        id,
        words,
        x: &xy.x.label,
        y: &xy.y,
        marks: places.collect(),
        y_scale: &y_scale,
        modelled,
    };
    frame.around(&html! {
        @for bar in &bars {
            @let index = colours.index(&bar.series.name);
            @let (from, to) = (y_scale.place(bar.from), y_scale.place(bar.to));
            @let top = from.min(to);
            @let class = if bar.mark.modelled { format!("bar stroke-{index}") } else { format!("bar fill-{index} stroke-{index}") };
            @let fill = bar.mark.modelled.then(|| format!("url(#hatch-{index})"));
            rect class=(class) fill=[fill] x=(round(bar.left)) y=(round(top)) width=(round(bar.width))
                height=(round((from - to).abs().max(0.8))) {
                title { (words_of(bar.series, bar.mark)) }
            }
            @if xy.style == Style::Bars {
                @let middle = bar.left + bar.width / 2.0;
                (band(bar, &y_scale, index))
                (whisker(bar.mark, middle, &y_scale, index))
                @if bar.width > width(&short(bar.mark.y)) {
                    @let above = above(bar, top, &y_scale);
                    text.value x=(round(middle)) y=(round(above - 4.0)) text-anchor="middle" { (short(bar.mark.y)) }
                }
                @if let Some((value, to)) = bar.mark.published {
                    @let at = (middle, y_scale.place(to.map_or(value, |to| f64::midpoint(value, to))));
                    (printed(index, at, &format!("{} at {}: published {}", bar.series.name, bar.mark.at, range(value, to))))
                }
            } @else if (from - to).abs() > 13.0 && bar.width > 26.0 {
                text.value.inside x=(round(bar.left + bar.width / 2.0)) y=(round(f64::midpoint(from, to) + 4.0))
                    text-anchor="middle" { (short(bar.mark.y)) }
            }
        }
    })
}

/// Returns the height of a bar's label: above its interval, its band and the published value.
fn above(bar: &Bar<'_>, top: f64, y_scale: &Scale) -> f64 {
    let mut above = top;
    for (_, high) in [bar.mark.interval, bar.mark.band].into_iter().flatten() {
        above = above.min(y_scale.place(high));
    }
    if let Some((value, to)) = bar.mark.published {
        let ring = y_scale.place(to.map_or(value, |to| f64::midpoint(value, to)));
        // The label is as high as two rings.
        if (above - 20.0..above + 7.0).contains(&ring) {
            above = ring - 7.0;
        }
    }
    above
}

/// Draws the model's band of a bar.
fn band(bar: &Bar<'_>, y_scale: &Scale, index: usize) -> Markup {
    html! {
        @if let Some((low, high)) = bar.mark.band {
            @let (low, high) = (y_scale.place(low), y_scale.place(high));
            rect class=(format!("band bar-band fill-{index} stroke-{index}")) x=(round(bar.left + bar.width * 0.3))
                y=(round(high)) width=(round(bar.width * 0.4)) height=(round((low - high).max(0.8))) {
                title { (bar.series.name) ": the model's band" }
            }
        }
    }
}

/// Returns the width available for each value of x.
fn slot(xy: &Xy) -> f64 {
    (RIGHT - LEFT) / xy.x.values.len().max(1) as f64
}

fn bars(xy: &Xy) -> Vec<Bar<'_>> {
    let slot = slot(xy);
    let stacked = xy.style == Style::Stacked;
    let beside = if stacked { 1 } else { xy.series.len().max(1) };
    let width = (slot * 0.8 / beside as f64).min(WIDEST);
    let mut bars = Vec::new();
    for (place, (at, _)) in xy.x.values.iter().enumerate() {
        let middle = LEFT + (place as f64 + 0.5) * slot;
        let first = middle - width * beside as f64 / 2.0;
        let mut ground = 0.0;
        for (turn, series) in xy.series.iter().enumerate() {
            let Some(mark) = series.marks.iter().find(|mark| mark.at == *at) else {
                continue;
            };
            let turn = if stacked { 0 } else { turn };
            bars.push(Bar {
                series,
                mark,
                left: first + turn as f64 * width + 0.75,
                width: width - 1.5,
                from: ground,
                to: ground + mark.y,
            });
            if stacked {
                ground += mark.y;
            }
        }
    }
    bars
}
