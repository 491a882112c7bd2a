//! Text in columns without borders, as many as the terminal has room for.

use crate::output::terminal_width;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
pub use joulio_lab::printable as clean;
use std::fmt::Write;
use textwrap::core::display_width;

/// Headings of figures that are dropped last, in descending order; a `*` after a heading is ignored.
const FIRST: [&str; 16] = [
    "modelled",
    "error",
    "verdict",
    "published",
    "IOPS",
    "uJ/IO",
    "p99 us",
    "W",
    "from",
    "to",
    "mean us",
    "CPU us/IO",
    "p50 us",
    "p99.9 us",
    "boundary",
    "source",
];

/// Blanks between two columns, and on either side of a line.
const BETWEEN: usize = 2;

/// Choice of a table's columns of figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Chosen {
    /// Columns that fit the terminal; all if there is no terminal.
    #[default]
    Fitting,
    /// All columns, even if lines become too long.
    All,
    /// Columns by their headings.
    Named(Vec<String>),
}

/// Formats a header and rows with as many cells. The first `left` columns are words, aligned left; the others are
/// figures, aligned right. Columns that do not fit the terminal are dropped, and a line lists them.
pub fn columns(
    header: impl IntoIterator<Item: Into<String>>,
    rows: impl IntoIterator<Item: IntoIterator<Item: Into<String>>>,
    left: usize,
) -> String {
    chosen_columns(header, rows, left, &Chosen::Fitting)
}

/// Formats a table as [`columns`] does, with the `chosen` figures.
pub fn chosen_columns(
    header: impl IntoIterator<Item: Into<String>>,
    rows: impl IntoIterator<Item: IntoIterator<Item: Into<String>>>,
    left: usize,
    chosen: &Chosen,
) -> String {
    let cells = |cells: &mut dyn Iterator<Item = String>| cells.map(|cell| clean(&cell)).collect();
    let header: Vec<String> = cells(&mut header.into_iter().map(Into::into));
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| cells(&mut row.into_iter().map(Into::into)))
        .collect();
    fitted(&header, &rows, left, chosen, terminal_width())
}

/// Formats a table as [`columns`] does, in which the last column of words distinguishes the rows. If it would be cut,
/// it gets a line of its own, with the figures on the next line.
pub fn distinct_columns(header: &[&str], rows: &[Vec<String>], left: usize) -> String {
    let header: Vec<String> = header.iter().map(|cell| clean(cell)).collect();
    let cells = |row: &Vec<String>| row.iter().map(|cell| clean(cell)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    apart(&header, &rows, left, terminal_width())
}

fn apart(header: &[String], rows: &[Vec<String>], left: usize, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| cuts(header, rows, left, *width)) else {
        return fitted(header, rows, left, &Chosen::Fitting, width);
    };
    let last = left - 1;
    let others = |cells: &[String]| [&cells[..last], &cells[left..]].concat();
    let figures: Vec<_> = rows.iter().map(|row| others(row)).collect();
    let chosen = &Chosen::Fitting;
    let table = fitted(&others(header), &figures, last, chosen, Some(width));
    let words = (0..last).map(|index| width_of(header, rows, index) + BETWEEN);
    let indent = words.sum::<usize>() + 1;
    let mut text = String::new();
    let mut lines = table.lines();
    let above = std::iter::once(header).chain(rows.iter().map(Vec::as_slice));
    for (row, line) in above.zip(&mut lines) {
        let begin: String = line.chars().take(indent).collect();
        let figures: String = line.chars().skip(indent).collect();
        let blank = " ".repeat(indent);
        let options = textwrap::Options::new(width)
            .initial_indent(&begin)
            .subsequent_indent(&blank);
        let words = textwrap::wrap(&row[last], options).join("\n");
        let _ = writeln!(text, "{words}\n{blank}{figures}");
    }
    lines.for_each(|line| text += &format!("{line}\n"));
    text
}

/// Returns true if a cell in the last of the `left` columns of words would be cut in a table of `width` characters.
fn cuts(header: &[String], rows: &[Vec<String>], left: usize, width: usize) -> bool {
    let (words, _) = fitting(header, rows, &groups(header, left), width);
    words[left - 1] < width_of(header, rows, left - 1)
}

/// Returns the width of the longest cell in the column `index`.
fn width_of(header: &[String], rows: &[Vec<String>], index: usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(index));
    let cells = cells.chain([&header[index]]);
    cells.map(|cell| display_width(cell)).max().unwrap_or(0)
}

/// Formats the table in lines of up to `width` characters.
fn fitted(
    header: &[String],
    rows: &[Vec<String>],
    left: usize,
    chosen: &Chosen,
    width: Option<usize>,
) -> String {
    let left = left.min(header.len());
    let groups = groups(header, left);
    let width = width.filter(|_| *chosen == Chosen::Fitting);
    let mut absent: Vec<&str> = Vec::new();
    let (words, kept) = match (chosen, width) {
        (Chosen::Fitting, Some(width)) => fitting(header, rows, &groups, width),
        (Chosen::Named(names), _) => {
            let mut kept = Vec::new();
            for name in names {
                let mut all = groups.iter();
                match all.find(|group| is_named(plain(&header[group.start]), name)) {
                    Some(group) => kept.push(group.clone()),
                    None => absent.push(name),
                }
            }
            (Vec::new(), kept)
        }
        _ => (Vec::new(), groups.clone()),
    };
    let out: Vec<&str> = groups
        .iter()
        .filter(|group| !kept.contains(group))
        .map(|group| header[group.start].as_str())
        .collect();
    let indices: Vec<usize> = (0..left).chain(kept.into_iter().flatten()).collect();
    let mut text = table(header, rows, (left, &words), &indices);
    if !absent.is_empty() {
        let _ = writeln!(text, " not in these runs: {}", absent.join(", "));
    }
    if let (Some(width), Some((last, others))) = (width, out.split_last()) {
        let others = others.iter().map(|name| format!("{name},"));
        // The list of dropped columns is broken into lines that fit the terminal.
        let mut line = String::from(" no room for");
        for part in others.chain([(*last).to_owned()]) {
            if display_width(&line) + 1 + display_width(&part) > width {
                let _ = writeln!(text, "{line}");
                line = String::new();
            }
            let _ = write!(line, " {part}");
        }
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Columns that are kept or dropped together.
type Group = std::ops::Range<usize>;

/// Returns the columns of figures, each together with the following columns of its bounds, which mean nothing by
/// themselves.
fn groups(header: &[String], left: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, heading) in header.iter().enumerate().skip(left) {
        let goes_on = |group: &Group| match plain(heading) {
            "+-" => true,
            "to" => plain(&header[group.start]) == "from",
            _ => false,
        };
        match groups.last_mut() {
            Some(group) if goes_on(group) => group.end = index + 1,
            _ => groups.push(index..index + 1),
        }
    }
    groups
}

/// Returns the widths of the columns of words, and the columns of figures, that fit into `width`.
fn fitting(
    header: &[String],
    rows: &[Vec<String>],
    groups: &[Group],
    width: usize,
) -> (Vec<usize>, Vec<Group>) {
    let width_of = |index: usize| width_of(header, rows, index);
    let of_group = |group: &Group| {
        group
            .clone()
            .map(|index| width_of(index) + BETWEEN)
            .sum::<usize>()
    };
    let rank = |group: &&Group| {
        let heading = plain(&header[group.start]);
        let first = FIRST.iter().position(|first| *first == heading);
        (first.unwrap_or(FIRST.len()), group.start)
    };
    let mut by_rank: Vec<&Group> = groups.iter().collect();
    by_rank.sort_by_key(rank);
    let left = groups.first().map_or(header.len(), |group| group.start);
    let mut words: Vec<usize> = (0..left).map(width_of).collect();
    // To make room for the first columns of figures, words are cut, the longest first.
    let taken = |words: &[usize]| words.iter().map(|width| width + BETWEEN).sum::<usize>();
    for (figures, shortest) in [(FIGURES, CUT), (1, MIN_WORD_CHARS)] {
        let first = by_rank.iter().take(figures);
        let first = first.map(|group| of_group(group)).sum::<usize>();
        while taken(&words) + first > width {
            match words.iter_mut().max() {
                Some(longest) if *longest > shortest => *longest -= 1,
                _ => break,
            }
        }
    }
    let mut taken = taken(&words);
    let mut kept: Vec<Group> = Vec::new();
    for group in by_rank {
        if taken + of_group(group) <= width {
            taken += of_group(group);
            kept.push(group.clone());
        }
    }
    kept.sort_by_key(|group| group.start);
    (words, kept)
}

/// Number of columns of figures for which words are cut.
const FIGURES: usize = 4;
/// Smallest number of characters to which a word is cut for these columns.
const CUT: usize = 20;
/// Smallest number of characters to which a word is cut for a single column.
const MIN_WORD_CHARS: usize = 8;

/// Returns true if `name` stands for `heading`: with or without its unit, in any case, with underscores or spaces.
pub fn is_named(heading: &str, name: &str) -> bool {
    let name = &name.replace('_', " ");
    let bare = heading.strip_suffix(" us").unwrap_or(heading);
    heading.eq_ignore_ascii_case(name) || bare.eq_ignore_ascii_case(name)
}

/// Returns a heading without the mark of modelled figures.
fn plain(heading: &str) -> &str {
    heading.trim_end_matches('*')
}

/// Formats the columns `kept`, of which the first `left` are words, cut to the number of characters in `words`.
fn table(
    header: &[String],
    rows: &[Vec<String>],
    (left, words): (usize, &[usize]),
    kept: &[usize],
) -> String {
    let pick = |cells: &[String]| {
        let picked = kept.iter().map(|index| {
            let cell = cells.get(*index).map_or("", String::as_str);
            match words.get(*index) {
                Some(&most) if cell.chars().count() > most => {
                    let cut: String = cell.chars().take(most - 1).collect();
                    cut + "…"
                }
                _ => cell.to_owned(),
            }
        });
        picked.collect::<Vec<_>>()
    };
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(pick(header));
    for row in rows {
        table.add_row(pick(row));
    }
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = String::new();
    for line in table.lines() {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: [&str; 8] = [
        "completion",
        "IOPS*",
        "MiB/s*",
        "mean us",
        "p99 us",
        "polls/IO",
        "W*",
        "uJ/IO*",
    ];
    const ROWS: [[&str; 8]; 2] = [
        [
            "poll", "223940", "874.8", "4.3", "4.9", "69.8", "115.4", "515.2",
        ],
        [
            "interrupt",
            "130784",
            "510.9",
            "7.4",
            "8.1",
            "3.0",
            "115.5",
            "883.1",
        ],
    ];

    fn of(chosen: &Chosen, width: Option<usize>) -> String {
        let owned = |cells: &[&str]| {
            cells
                .iter()
                .map(|cell| cell.to_string())
                .collect::<Vec<_>>()
        };
        let rows: Vec<_> = ROWS.iter().map(|row| owned(row)).collect();
        fitted(&owned(&HEADER), &rows, 1, chosen, width)
    }

    #[test]
    fn no_line_is_longer_than_the_terminal_and_what_counts_most_stays() {
        for width in 24..100 {
            let text = of(&Chosen::Fitting, Some(width));
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            for heading in HEADER {
                assert!(text.contains(heading), "{width}: {heading}\n{text}");
            }
        }
        let text = of(&Chosen::Fitting, Some(40));
        let header = text.lines().next().unwrap();
        for heading in ["completion", "IOPS*", "p99 us", "uJ/IO*"] {
            assert!(header.contains(heading), "{text}");
        }
        assert!(text.contains("no room for MiB/s*, "), "{text}");
    }

    #[test]
    fn elsewhere_and_where_there_is_room_every_column_is_there() {
        let all = of(&Chosen::Fitting, None);
        assert_eq!(all, of(&Chosen::All, Some(40)));
        assert_eq!(all, of(&Chosen::Fitting, Some(200)));
        assert!(!all.contains("no room"));
    }

    #[test]
    fn bounds_stand_and_go_with_their_figure() {
        let header = ["completion", "IOPS", "+-", "polls/IO", "+-"].map(String::from);
        let rows = [["poll", "1000", "17", "3.1", "0.2"]
            .map(String::from)
            .to_vec()];
        let text = fitted(&header, &rows, 1, &Chosen::Fitting, Some(30));
        assert_eq!(
            text,
            " completion  IOPS  +-\n poll        1000  17\n no room for polls/IO\n"
        );
        let text = fitted(
            &header,
            &rows,
            1,
            &Chosen::Named(vec!["polls/IO".into()]),
            None,
        );
        assert_eq!(
            text,
            " completion  polls/IO   +-\n poll             3.1  0.2\n"
        );
    }

    #[test]
    fn words_are_cut_where_they_leave_no_room_for_a_figure() {
        let header = ["device", "what it is", "guess"].map(String::from);
        let what = "Generic hard disk of 7,200 revolutions a minute, as a counterpart";
        let rows = [["hdd-7200", what, "12"].map(String::from).to_vec()];
        let text = fitted(&header, &rows, 2, &Chosen::Fitting, Some(60));
        for line in text.lines() {
            assert!(line.chars().count() <= 60, "{text}");
        }
        assert!(
            text.contains("hdd-7200") && text.contains('…') && text.contains("12"),
            "{text}"
        );
    }

    #[test]
    fn words_that_tell_rows_apart_are_whole() {
        let owned = |cells: [&str; 4]| cells.map(String::from).to_vec();
        let header = owned(["source", "what", "published", "error"]);
        let rows = ["one core", "two cores and some words more"].map(|cores| {
            let what = format!("useful cycles while polling, {cores}");
            owned(["HS25", &what, "15.17", "+8.5 %"])
        });
        let text = apart(&header, &rows, 2, Some(50));
        assert_eq!(
            text,
            " source  what\n\
             \x20        published   error\n\
             \x20HS25    useful cycles while polling, one core\n\
             \x20            15.17  +8.5 %\n\
             \x20HS25    useful cycles while polling, two cores\n\
             \x20        and some words more\n\
             \x20            15.17  +8.5 %\n"
        );
        let wide = apart(&header, &rows, 2, Some(100));
        assert_eq!(wide, fitted(&header, &rows, 2, &Chosen::All, None));
    }

    #[test]
    fn columns_are_chosen_by_name() {
        let text = of(&Chosen::Named(vec!["p99".into(), "W".into()]), Some(10));
        assert_eq!(text.lines().next(), Some(" completion  p99 us     W*"));
        // Columns are shown in the order in which they are named; a line lists those that these runs do not have.
        let text = of(
            &Chosen::Named(["W", "uintr/IO", "p99 us"].map(String::from).to_vec()),
            None,
        );
        assert_eq!(text.lines().next(), Some(" completion     W*  p99 us"));
        assert_eq!(text.lines().last(), Some(" not in these runs: uintr/IO"));
    }
}
