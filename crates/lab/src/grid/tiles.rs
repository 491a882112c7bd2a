//! Maps of a grid as a picture.

use super::error::PictureError;
use super::maps::{Map, Tile};
use joulio_twin::grid::GridAxes;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Size of a tile, and the room to the left of a map and above it.
const TILE: (i32, i32) = (122, 17);
const LEFT: i32 = 180;
const TOP: i32 = 44;
const GAP: i32 = 24;
/// Height of the title and legend above all maps.
const HEAD: i32 = 64;
/// Number of maps side by side.
const ACROSS: usize = 2;

/// Percent by which the best policy has to be better for its tile to have the full colour.
const WHOLE: f64 = 10.0;

/// Lines of the legend below the title.
const LEGEND: [&str; 2] = [
    "Number and shade: percent that the next best uses more; 10 and above in the whole colour.",
    "No number: nobody else keeps it. ~: another is the best with some seeds. -: nobody keeps it.",
];

/// Colours that most colour-blind people can tell apart (after Okabe and Ito, and lighter ones of the same hues).
const COLOURS: [RGBColor; 16] = [
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 158, 115),
    RGBColor(240, 228, 66),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(153, 153, 153),
    RGBColor(250, 207, 128),
    RGBColor(170, 214, 240),
    RGBColor(128, 207, 185),
    RGBColor(128, 185, 217),
    RGBColor(234, 175, 128),
    RGBColor(230, 188, 211),
    RGBColor(94, 79, 47),
    RGBColor(60, 60, 60),
];

/// Draws `maps` as SVG.
pub(super) fn draw(machine: &str, axes: &GridAxes, maps: &[Map]) -> Result<String, PictureError> {
    let columns = axes.iodepths.len() as i32;
    let lines = (axes.devices.len() * axes.loads.len()) as i32;
    let (width, height) = (LEFT + columns * TILE.0 + GAP, TOP + lines * TILE.1 + GAP);
    let across = maps.len().clamp(1, ACROSS) as i32;
    let down = (maps.len() as i32 + across - 1) / across;
    let size = (across * width, HEAD + down * height);
    let mut names: Vec<&String> = Vec::new();
    for tile in maps
        .iter()
        .flat_map(|map| map.tiles.iter().flatten().flatten())
    {
        if !names.contains(&&tile.best) {
            names.push(&tile.best);
        }
    }
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (size.0 as u32, size.1 as u32));
        let area = area.into_drawing_area();
        area.fill(&WHITE).map_err(PictureError::drawing)?;
        let picture = Picture {
            area: &area,
            names: &names,
            axes,
        };
        let title = format!(
            "Least joules an I/O that keeps the promise, modelled on {machine}; by I/Os in flight"
        );
        picture.words(&title, (8, 16), 14, HPos::Left)?;
        for (line, y) in LEGEND.iter().zip([34, 50]) {
            picture.words(line, (8, y), 11, HPos::Left)?;
        }
        for (index, map) in maps.iter().enumerate() {
            let (x, y) = (index as i32 % across, index as i32 / across);
            picture.map(map, (x * width, HEAD + y * height))?;
        }
        area.present().map_err(PictureError::drawing)?;
    }
    Ok(text)
}

struct Picture<'a, 'b> {
    area: &'a DrawingArea<SVGBackend<'b>, plotters::coord::Shift>,
    names: &'a [&'a String],
    axes: &'a GridAxes,
}

impl Picture<'_, '_> {
    fn words(&self, text: &str, at: (i32, i32), size: i32, side: HPos) -> Result<(), PictureError> {
        self.inked(text, at, size, side, &BLACK)
    }

    fn inked(
        &self,
        text: &str,
        at: (i32, i32),
        size: i32,
        side: HPos,
        ink: &RGBColor,
    ) -> Result<(), PictureError> {
        let style = ("sans-serif", size).into_font().color(ink);
        let style = style.pos(Pos::new(side, VPos::Center));
        let drawn = self.area.draw_text(text, &style, at);
        drawn.map_err(PictureError::drawing)
    }

    fn map(&self, map: &Map, (x, y): (i32, i32)) -> Result<(), PictureError> {
        self.words(&map.title, (x + 8, y + 10), 12, HPos::Left)?;
        for (column, depth) in self.axes.iodepths.iter().enumerate() {
            let at = (x + LEFT + column as i32 * TILE.0 + TILE.0 / 2, y + TOP - 10);
            self.words(&depth.to_string(), at, 11, HPos::Center)?;
        }
        for (line, (name, tiles)) in map.lines.iter().zip(&map.tiles).enumerate() {
            let top = y + TOP + line as i32 * TILE.1;
            self.words(name, (x + LEFT - 6, top + TILE.1 / 2), 10, HPos::Right)?;
            for (column, best) in tiles.iter().enumerate() {
                let left = x + LEFT + column as i32 * TILE.0;
                self.tile(best.as_ref(), (left, top))?;
            }
        }
        Ok(())
    }

    fn tile(&self, tile: Option<&Tile>, (left, top): (i32, i32)) -> Result<(), PictureError> {
        let index = tile.and_then(|tile| self.names.iter().position(|name| **name == tile.best));
        let colour = index.map_or(WHITE, |index| COLOURS[index % COLOURS.len()]);
        let colour = tile.map_or(colour, |tile| shaded(colour, tile));
        let corners = [(left, top), (left + TILE.0 - 1, top + TILE.1 - 1)];
        let square = Rectangle::new(corners, colour.filled());
        self.area.draw(&square).map_err(PictureError::drawing)?;
        let name = tile.map_or_else(|| "-".to_string(), Tile::to_string);
        let middle = (left + TILE.0 / 2, top + TILE.1 / 2);
        // Dark tiles have light text, by the luminance of ITU-R BT.601.
        let RGBColor(red, green, blue) = colour;
        let [red, green, blue] = [red, green, blue].map(f64::from);
        let light = 0.299 * red + 0.587 * green + 0.114 * blue > 110.0;
        let ink = if light { &BLACK } else { &WHITE };
        self.inked(&name, middle, 10, HPos::Center, ink)
    }
}

/// Returns the `colour` of a tile, paler the smaller its margin is.
fn shaded(colour: RGBColor, tile: &Tile) -> RGBColor {
    let margin = tile
        .margin
        .map_or(1.0, |margin| (100.0 * margin / WHOLE).min(1.0));
    let share = if tile.tie { 0.15 } else { 0.3 + 0.7 * margin };
    let mixed = |part: u8| (255.0 - share * (255.0 - f64::from(part))).round() as u8;
    RGBColor(mixed(colour.0), mixed(colour.1), mixed(colour.2))
}
