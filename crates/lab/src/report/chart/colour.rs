//! Colours by name, the same in every figure of a report.

use crate::report::figure::{Drawing, ReportFigure};

/// Number of colours of the style sheet.
pub const COUNT: usize = 8;

/// Names that always have the same colour.
const KNOWN: [(&str, usize); 21] = [
    ("poll", 0),
    ("interrupt", 1),
    ("hybrid", 2),
    ("adaptive", 3),
    ("uintr", 4),
    ("sqpoll+poll", 5),
    ("sqpoll", 6),
    ("none", 0),
    ("mq-deadline", 1),
    ("kyber", 2),
    ("bfq", 3),
    ("psync", 0),
    ("libaio", 1),
    ("io_uring", 2),
    ("nvme", 3),
    ("io_uring_cmd", 4),
    ("randread", 0),
    ("randwrite", 1),
    ("randrw", 2),
    ("read", 4),
    ("write", 5),
];

/// Colours by name.
#[derive(Debug, Default)]
pub struct Colours(Vec<(String, usize)>);

impl Colours {
    /// Returns the colours of `figure`: known names have their own, others get the rest.
    pub fn of(figure: &ReportFigure) -> Colours {
        let mut names: Vec<String> = Vec::new();
        for panel in &figure.panels {
            let of_panel: Vec<&String> = match &panel.drawing {
                Drawing::Xy(xy) => xy.series.iter().map(|series| &series.name).collect(),
                Drawing::Tiles(tiles) => tiles
                    .tiles()
                    .flat_map(|tile| &tile.entries)
                    .map(|entry| &entry.name)
                    .collect(),
            };
            for name in of_panel {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        let mut given: Vec<(String, usize)> = Vec::new();
        let taken = |given: &[(String, usize)], index: usize| given.iter().any(|g| g.1 == index);
        for name in &names {
            let known = KNOWN.iter().find(|(known, _)| known == name);
            if let Some((_, index)) = known.filter(|(_, index)| !taken(&given, *index)) {
                given.push((name.clone(), *index));
            }
        }
        for name in &names {
            if given.iter().all(|(of, _)| of != name) {
                let free = (0..COUNT).find(|index| !taken(&given, *index));
                given.push((name.clone(), free.unwrap_or(given.len() % COUNT)));
            }
        }
        // In order of appearance, as in the legend.
        given.sort_by_key(|(name, _)| names.iter().position(|one| one == name));
        Colours(given)
    }

    /// Returns the colour of `name`.
    pub fn index(&self, name: &str) -> usize {
        let found = self.0.iter().find(|(of, _)| of == name);
        found.map_or(0, |(_, index)| *index)
    }

    /// Returns the names with their colours.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(name, index)| (name.as_str(), *index))
    }
}
