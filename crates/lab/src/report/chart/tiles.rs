//! Tiles in rows and columns.

use super::Drawn;
use super::colour::Colours;
use super::frame::{self, round};
use crate::report::figure::{Tie, Tile, Tiles};
use crate::report::value::{probability, short, signed};
use maud::{Markup, html};

const WIDE: f64 = 46.0;
const HIGH: f64 = 28.0;
const TOP: f64 = 54.0;

/// Percent by which the best has to be better for its tile to have the full colour.
const WHOLE: f64 = 10.0;

pub fn draw(tiles: &Tiles, colours: &Colours, id: &str, words: &str) -> Drawn {
    let (columns, rows) = (&tiles.columns.1, &tiles.rows.1);
    let widest = rows
        .iter()
        .map(|row| frame::width(row))
        .fold(30.0, f64::max);
    let side = widest + 14.0;
    // Room for the name of the columns, and for the note that they are modelled.
    let named = side + frame::width(&tiles.columns.0) * 1.1 + 80.0;
    let width = (side + columns.len() as f64 * WIDE + 6.0).max(named);
    let height = TOP + rows.len() as f64 * HIGH + 8.0;
    let title = format!("{id}-words");
    let all = || tiles.tiles();
    let modelled = all().count() > 0 && all().all(|tile| tile.modelled);
    let largest = all()
        .map(|tile| tile.value.abs())
        .fold(f64::MIN_POSITIVE, f64::max);
    let svg = html! {
        svg.plot.tiles role="img" aria-labelledby=(title) viewBox=(format!("0 0 {width} {height}"))
            style=(format!("max-width: {}px", (width * 1.35).round())) {
            title id=(title) { (words) }
            text.axis-name x=(side) y="12" { (tiles.columns.0) " →" }
            text.axis-name x="0" y="28" { (tiles.rows.0) " ↓" }
            @if modelled {
                text.modelled-mark x=(width - 6.0) y="12" text-anchor="end" { "modelled" }
            }
            @for (index, column) in columns.iter().enumerate() {
                text.tick x=(side + (index as f64 + 0.5) * WIDE) y=(TOP - 8.0) text-anchor="middle" { (column) }
            }
            @for (line, (row, of_row)) in rows.iter().zip(&tiles.tiles).enumerate() {
                @let top = TOP + line as f64 * HIGH;
                text.tick x=(side - 6.0) y=(top + HIGH / 2.0 + 4.0) text-anchor="end" { (row) }
                @for (index, tile) in of_row.iter().enumerate() {
                    @let left = side + index as f64 * WIDE;
                    @if let Some(tile) = tile {
                        (one(tile, colours, (left, top), largest))
                    } @else {
                        rect.tile.empty x=(left + 1.0) y=(top + 1.0) width=(WIDE - 2.0) height=(HIGH - 2.0) {}
                    }
                }
            }
        }
    };
    Drawn { svg, width, height }
}

fn one(tile: &Tile, colours: &Colours, (left, top): (f64, f64), largest: f64) -> Markup {
    let (x, y, w, h) = (left + 1.0, top + 1.0, WIDE - 2.0, HIGH - 2.0);
    let (index, depth) = match &tile.best {
        Some(best) => (colours.index(best), (tile.value / WHOLE).min(1.0)),
        // Positive differences have a warm colour, negative ones a cold colour.
        None => (usize::from(tile.value > 0.0), (tile.value / largest).abs()),
    };
    let counts = matches!(tile.tie, Tie::No | Tie::Unknown);
    let opacity = match tile.tie {
        Tie::Noise => 0.0,
        Tie::Band => 0.12,
        _ => 0.16 + 0.44 * depth,
    };
    let text = match (&tile.best, tile.tie) {
        (Some(_), Tie::Noise) => "tie".to_owned(),
        (None, Tie::Noise) => "≈ 0".to_owned(),
        (Some(best), tie) => {
            let about = if tie == Tie::Band { "≈" } else { "" };
            format!("{} {about}{}", initial(best), margin(tile.value))
        }
        (None, tie) => {
            let about = if tie == Tie::Band { "≈" } else { "" };
            format!("{about}{}", signed_short(tile.value))
        }
    };
    let class = match tile.tie {
        Tie::Noise => "tile noise".to_owned(),
        Tie::Band => format!("tile doubtful stroke-{index}"),
        _ => format!("tile stroke-{index}"),
    };
    html! {
        g.tile-group {
            title { (words(tile)) }
            rect class=(format!("ground fill-{index}")) x=(x) y=(y) width=(w) height=(h) opacity=(round(opacity * 100.0) / 100.0) {}
            @if tile.modelled {
                rect x=(x) y=(y) width=(w) height=(h) fill="url(#hatch-ground)" {}
            }
            rect class=(class) x=(x) y=(y) width=(w) height=(h) {}
            text class=(if counts { "tile-text" } else { "tile-text muted" })
                x=(x + w / 2.0) y=(y + h / 2.0 + 4.0) text-anchor="middle" { (text) }
        }
    }
}

/// Returns the abbreviation of a name in its tiles and in the legend; of a model with its first digit: `P`, `S9` for
/// samsung-960-evo.
pub fn initial(name: &str) -> String {
    let letter = name.chars().take(1).flat_map(char::to_uppercase);
    let mut parts = name.split('-').skip(1);
    let digit = parts.find_map(|part| part.chars().next().filter(char::is_ascii_digit));
    letter.chain(digit).collect()
}

/// Formats a percentage to fit into a tile.
fn margin(percent: f64) -> String {
    match percent {
        p if p >= 9.95 => format!("{p:.0}"),
        p => format!("{p:.1}"),
    }
}

/// Formats a difference to fit into a tile.
fn signed_short(value: f64) -> String {
    match value.abs() {
        size if size >= 9.95 => format!("{value:+.0}"),
        _ => format!("{value:+.1}"),
    }
}

/// Returns the full text of a tile, which is shown under the pointer.
pub fn words(tile: &Tile) -> String {
    let entries = tile.entries.iter();
    let entries = entries.map(|entry| format!("{} {}", entry.name, short(entry.value)));
    let entries = entries.collect::<Vec<_>>().join(", ");
    let mut words = match &tile.best {
        Some(best) => format!("{best} by {} %: {entries}", margin(tile.value)),
        None => format!("{}: {entries}", signed(tile.value)),
    };
    words += &match (tile.tie, tile.p) {
        (Tie::Noise, Some(p)) => format!("; a tie by noise (p {})", probability(p)),
        (Tie::Band, _) => "; a tie by the model's band".to_owned(),
        (_, Some(p)) => format!("; p {}", probability(p)),
        _ => "; not repeated".to_owned(),
    };
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_of_one_maker_have_letters_of_their_own() {
        let names = ["poll", "samsung-850-evo", "samsung-960-evo"];
        assert_eq!(names.map(initial), ["P", "S8", "S9"]);
    }
}
