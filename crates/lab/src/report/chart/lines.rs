//! Line and scatter drawings.

use super::Drawn;
use super::colour::Colours;
use super::frame::{BOTTOM, Frame, LEFT, RIGHT, TOP, round};
use super::marker::{marker, printed};
use super::scale::Scale;
use crate::report::figure::{Mark, Series, Style, Xy};
use crate::report::value::short;
use maud::{Markup, html};

/// Distance between the ends of the x axis and the first and last value.
const INSET: f64 = 14.0;

pub fn draw(xy: &Xy, colours: &Colours, id: &str, words: &str) -> Drawn {
    let all = || xy.series.iter().flat_map(|series| &series.marks);
    let x_scale = x_scale(xy);
    let mut values: Vec<f64> = all().map(|mark| mark.y).collect();
    values.extend(
        all()
            .filter_map(Mark::drawn_interval)
            .flat_map(|(a, b)| [a, b])
            // An interval that ends at zero does not rule out a logarithmic scale.
            .filter(|end| *end != 0.0),
    );
    values.extend(all().filter_map(|mark| Some(mark.published?.0)));
    let drawn = xy.series.iter().filter(|series| series.fit.is_none());
    let bands = drawn
        .flat_map(|series| &series.marks)
        .filter_map(|mark| mark.band);
    values.extend(bands.flat_map(|(a, b)| [a, b]));
    values.extend(xy.limit.iter().map(|(_, at)| *at));
    let y_scale = match xy.style {
        Style::Curve => Scale::percent((BOTTOM, TOP + 4.0)),
        style => Scale::of(&values, (BOTTOM, TOP + 4.0), style == Style::Lines),
    };
    let modelled = all().count() > 0 && all().all(|mark| mark.modelled);
    let mixed = !modelled && all().any(|mark| mark.modelled);
    let place = |mark: &Mark| (x_scale.place(mark.x), y_scale.place(mark.y));
    let ticks = match xy.style {
        Style::Scatter | Style::Curve => x_scale.ticks.as_slice(),
        _ => &[],
    };
    let marks = ticks.iter();
    let marks = marks.map(|tick| (short(*tick), x_scale.place(*tick)));
    let named =
        xy.x.values
            .iter()
            .map(|(text, x)| (text.clone(), x_scale.place(*x)));
    let frame = Frame {
        id,
        words,
        x: &xy.x.label,
        y: &xy.y,
        marks: marks.chain(named).collect(),
        y_scale: &y_scale,
        modelled,
    };
    frame.around(&html! {
        @for series in &xy.series {
            @let index = colours.index(&series.name);
            (band(series, &x_scale, &y_scale, index))
        }
        @if let Some((text, at)) = &xy.limit {
            @let y = round(y_scale.place(*at));
            line.limit x1=(LEFT) x2=(RIGHT) y1=(y) y2=(y) {}
            text.limit-name x=(LEFT + 4.0) y=(y - 4.0) { (text) ", " (short(*at)) }
        }
        @for series in &xy.series {
            @let index = colours.index(&series.name);
            @let line = series.marks.iter().map(&place).collect::<Vec<_>>();
            @let line = if xy.style == Style::Curve { steps(&line) } else { line };
            @if let (Style::Scatter, Some(fit)) = (xy.style, &series.fit) {
                polyline class=(format!("line stroke-{index}"))
                    points=(points(&curve(series, |x| fit.at(x), &x_scale, &y_scale))) {}
            } @else {
                polyline class=(format!("line stroke-{index}")) points=(points(&line)) {}
            }
            @for mark in series.marks.iter().filter(|mark| xy.style != Style::Curve || !mark.at.is_empty()) {
                (whisker(mark, place(mark).0, &y_scale, index))
                (marker(index, place(mark), mixed && mark.modelled, &words_of(series, mark)))
            }
            @for mark in &series.marks {
                @if let Some((value, to)) = mark.published {
                    @let middle = to.map_or(value, |to| f64::midpoint(value, to));
                    @let at = (place(mark).0, y_scale.place(middle));
                    (printed(index, at, &format!("{} at {}: published {}", series.name, mark.at, range(value, to))))
                }
            }
        }
    })
}

/// Returns the scale of the x axis.
fn x_scale(xy: &Xy) -> Scale {
    let places = (LEFT + INSET, RIGHT - INSET);
    if matches!(xy.style, Style::Scatter | Style::Curve) {
        let marks = xy.series.iter().flat_map(|series| &series.marks);
        let values: Vec<f64> = marks.map(|mark| mark.x).collect();
        if xy.x.logarithmic {
            return Scale::around(&values, places);
        }
        return Scale::of(&values, (LEFT, RIGHT - INSET), false);
    }
    let values = || xy.x.values.iter().map(|(_, x)| *x);
    let least = values().fold(f64::MAX, f64::min);
    let most = values().fold(f64::MIN, f64::max);
    Scale::fixed(least, most, places, xy.x.logarithmic, Vec::new())
}

/// Draws the model's band around a series.
fn band(series: &Series, x_scale: &Scale, y_scale: &Scale, index: usize) -> Markup {
    let ends = |end: fn((f64, f64)) -> f64| {
        let marks = series.marks.iter();
        let places = marks.filter_map(move |mark| Some((mark.x, end(mark.band?))));
        places
            .map(|(x, y)| (x_scale.place(x), y_scale.place(y)))
            .collect::<Vec<_>>()
    };
    let mut around = ends(|band| band.0);
    let mut back = ends(|band| band.1);
    back.reverse();
    around.extend(back);
    html! {
        @if around.len() > 2 && series.fit.is_none() {
            polygon class=(format!("band fill-{index}")) points=(points(&around)) {
                title { (series.name) ": the model's band" }
            }
        }
    }
}

/// Draws the 95 % interval of `mark`.
pub fn whisker(mark: &Mark, x: f64, y_scale: &Scale, index: usize) -> Markup {
    let x = round(x);
    html! {
        @if let Some((low, high)) = mark.drawn_interval() {
            @let (low, high) = (round(y_scale.place(low)), round(y_scale.place(high)));
            @if low - high > 1.0 {
                g class=(format!("whisker stroke-{index}")) {
                    line x1=(x) x2=(x) y1=(low) y2=(high) {}
                    line x1=(x - 3.0) x2=(x + 3.0) y1=(low) y2=(low) {}
                    line x1=(x - 3.0) x2=(x + 3.0) y1=(high) y2=(high) {}
                }
            }
        }
    }
}

/// Draws the curve `y` over the range of a series.
fn curve(
    series: &Series,
    y: impl Fn(f64) -> f64,
    x_scale: &Scale,
    y_scale: &Scale,
) -> Vec<(f64, f64)> {
    let xs = || series.marks.iter().map(|mark| mark.x);
    let (from, to) = (xs().fold(f64::MAX, f64::min), xs().fold(f64::MIN, f64::max));
    let at = |step: i32| from + (to - from) * f64::from(step) / 40.0;
    let places = (0..=40)
        .map(at)
        .map(|x| (x_scale.place(x), y_scale.place(y(x))));
    places.collect()
}

/// Returns the stairs through `places`, starting at the bottom.
fn steps(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut height = BOTTOM;
    let mut steps = Vec::with_capacity(2 * places.len());
    for (x, y) in places {
        steps.extend([(*x, height), (*x, *y)]);
        height = *y;
    }
    steps
}

fn points(places: &[(f64, f64)]) -> String {
    let places = places
        .iter()
        .map(|(x, y)| format!("{},{}", round(*x), round(*y)));
    places.collect::<Vec<_>>().join(" ")
}

/// Returns the text of a mark that is shown under the pointer.
pub fn words_of(series: &Series, mark: &Mark) -> String {
    let mut words = match (series.name.is_empty(), mark.at.is_empty()) {
        (true, _) => format!("{}: {}", mark.at, short(mark.y)),
        (_, true) => format!("{}: {}", series.name, short(mark.y)),
        _ => format!("{} at {}: {}", series.name, mark.at, short(mark.y)),
    };
    if let Some((low, high)) = mark.interval {
        words += &format!(" ({} to {}, {} runs)", short(low), short(high), mark.n);
    }
    if mark.modelled {
        words += ", modelled";
    }
    if mark.past_tdp {
        words += ", past the package's TDP";
    }
    words
}

/// Formats a published value or range.
pub fn range(from: f64, to: Option<f64>) -> String {
    match to {
        Some(to) => format!("{} to {}", short(from), short(to)),
        None => short(from),
    }
}
