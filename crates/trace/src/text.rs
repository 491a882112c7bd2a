//! The timeline as text: a line for each I/O, with a bar that shows what its core did.

mod bar;
pub(crate) mod words;

use crate::{Core, Timeline, TraceMark, TracedIo, WaitKind, WokenBy};
use bar::Scale;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use joulio_units::Joules;
use std::collections::BTreeMap;
use std::fmt::Write;
use words::{mark, micros, missing, operation, steps};

const COLUMNS: [&str; 11] = [
    "#", "q", "op", "bytes", "submit", "bell", "asleep", "woken", "polled", "complete", "total",
];
/// Columns for I/Os with a plan: its steps, and microjoules, expected and actual.
const PLAN_COLUMNS: [&str; 3] = ["plan", "exp", "real"];
/// Columns with words, which are left-aligned.
const WORDS: [usize; 2] = [2, COLUMNS.len()];
/// Columns that are dropped, in this order, to make room for the bar; others are never dropped.
const LEAST_WANTED: [&str; 6] = ["submit", "bytes", "real", "exp", "q", "complete"];
/// Least width of a bar; if the other columns need the room, lines become longer than requested.
const MIN_BAR: usize = 10;

/// Returns `timeline` in lines of `width` columns, or slightly more if its figures are long.
///
/// Times are in microseconds: `submit` and `complete` count from the first event, the others are parts of the I/O.
pub fn text(timeline: &Timeline, width: usize) -> String {
    let mut text = heading(timeline);
    if !timeline.ios.is_empty() {
        text.push('\n');
        lines(timeline, width, &mut text);
        text.push('\n');
        legend(timeline, &mut text);
    } else {
        for it in &timeline.marks {
            mark_line(timeline, it, &mut text);
        }
    }
    text
}

fn heading(timeline: &Timeline) -> String {
    let whole = timeline.ios.iter().filter(|io| io.whole().is_some());
    let (whole, all) = (whole.count(), timeline.ios.len());
    let length = micros(timeline.since_start(timeline.end));
    let mut text = format!("{all} I/Os in {length} us; times are in us\n");
    if whole < all {
        let _ = writeln!(
            text,
            "{} of them without a submission or a completion",
            all - whole
        );
    }
    for core in &timeline.cores {
        text.push_str(&core_line(core));
    }
    text
}

/// Returns the line with the totals of a core.
fn core_line(core: &Core) -> String {
    let of = |kind| core.waits.iter().filter(|wait| wait.kind == kind).count();
    let mut line = format!(
        "{}: doorbells {}, sleeps {}, blocks {} (interrupted {}), spins {} (polls {})",
        core.name,
        core.rings.len(),
        of(WaitKind::Sleep),
        of(WaitKind::Block),
        core.waits.iter().filter(|wait| wait.interrupted).count(),
        of(WaitKind::Spin),
        core.waits.iter().map(|w| u64::from(w.polls)).sum::<u64>(),
    );
    match of(WaitKind::Pause) + of(WaitKind::Monitor) {
        0 => {}
        pauses => {
            let _ = write!(line, ", user-level waits {pauses}");
        }
    }
    if core.overwritten > 0 {
        let _ = write!(line, "; {} older events are lost", core.overwritten);
    }
    line.push('\n');
    line
}

/// Adds a line for each I/O and mark, in the order of time.
fn lines(timeline: &Timeline, width: usize, text: &mut String) {
    let mut header = COLUMNS.to_vec();
    let planned = is_planned(timeline);
    header.extend(PLAN_COLUMNS.iter().filter(|_| planned));
    let figures = timeline.ios.iter().enumerate().map(|(index, io)| {
        let mut row = cells(timeline, index, io).to_vec();
        row.extend(plan_cells(io).into_iter().filter(|_| planned));
        row
    });
    let figures: Vec<_> = figures.collect();
    let room = width.saturating_sub(MIN_BAR + 1);
    let out = left_out(&header, &figures, room);
    let table = table(&header, &figures, &out);
    let mut rows = table.lines();
    let header = rows.next().unwrap_or_default();
    let taken = header.chars().count() + 1;
    let scale = Scale::new(timeline, width.saturating_sub(taken).max(MIN_BAR));
    let _ = writeln!(text, "{header} {}", scale.ruler());
    let mut marks = timeline.marks.iter().peekable();
    for (io, row) in timeline.ios.iter().zip(rows) {
        while let Some(it) = marks.next_if(|it| it.at < io.first()) {
            mark_line(timeline, it, text);
        }
        let line = format!("{row} {}", what_happened(&scale, timeline, io));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    marks.for_each(|it| mark_line(timeline, it, text));
    if !out.is_empty() {
        let _ = writeln!(text, "no room for {}", out.join(", "));
    }
}

/// Returns the columns to leave out so that the others take at most `room`: as few of [`LEAST_WANTED`] as possible.
fn left_out(header: &[&str], rows: &[Vec<String>], room: usize) -> Vec<&'static str> {
    let width = |(index, heading): (usize, &&str)| {
        let cells = rows.iter().map(|row| row[index].chars().count());
        1 + cells.chain([heading.len()]).max().unwrap_or(0)
    };
    let named = header.iter().zip(header.iter().enumerate().map(width));
    let widths: BTreeMap<&str, usize> = named.map(|(name, width)| (*name, width)).collect();
    let mut taken: usize = widths.values().sum();
    let mut out = Vec::new();
    for name in LEAST_WANTED {
        if taken <= room {
            break;
        }
        if let Some(width) = widths.get(name) {
            taken -= width;
            out.push(name);
        }
    }
    out
}

/// Returns the columns of `header` without those that are left `out`, each followed by a blank.
fn table(header: &[&str], rows: &[Vec<String>], out: &[&str]) -> Table {
    let kept = |index: &usize| !out.contains(&header[*index]);
    let kept: Vec<usize> = (0..header.len()).filter(kept).collect();
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(kept.iter().map(|&index| header[index]));
    for row in rows {
        table.add_row(kept.iter().map(|&index| &row[index]));
    }
    for (column, index) in table.column_iter_mut().zip(&kept) {
        column.set_padding((0, 1));
        if !WORDS.contains(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn mark_line(timeline: &Timeline, it: &TraceMark, text: &mut String) {
    let at = micros(timeline.since_start(it.at));
    let core = &timeline.cores[it.core];
    let _ = writeln!(
        text,
        " ! at {at}, queue {}: {}{}",
        it.queue,
        mark(it.kind),
        match timeline.cores.len() {
            1 => String::new(),
            _ => format!(" ({})", core.name),
        }
    );
}

/// Returns the bar, or the reason why there is none.
fn what_happened(scale: &Scale, timeline: &Timeline, io: &TracedIo) -> String {
    match io.whole() {
        Some((_, completed)) if completed.is_success() => scale.bar(timeline, io),
        Some((_, completed)) => format!("failed: {}", words::status(completed.status)),
        None => missing(io).into(),
    }
}

fn cells(timeline: &Timeline, index: usize, io: &TracedIo) -> [String; COLUMNS.len()] {
    let none = || "-".to_string();
    let submitted = io.submitted.map(|submitted| submitted.at);
    let completed = io.completed.map(|completed| completed.at);
    let since = |at| micros(timeline.since_start(at));
    let bell = io.doorbell.zip(submitted).map(|(bell, at)| bell - at);
    let asleep = io.meanwhile.slept + io.meanwhile.blocked + io.meanwhile.paused;
    let whole = io.whole().is_some();
    let time = |time| if whole { micros(time) } else { none() };
    [
        (index + 1).to_string(),
        queue(timeline, io),
        operation(io).to_string(),
        io.submitted.map_or_else(none, |s| s.bytes.to_string()),
        submitted.map_or_else(none, since),
        bell.map_or_else(none, micros),
        time(asleep),
        io.meanwhile
            .wake
            .zip(submitted)
            .map_or_else(none, |(wake, at)| {
                let by = match wake.by {
                    WokenBy::Timer => 't',
                    WokenBy::Interrupt => 'i',
                };
                format!("{}{by}", micros(wake.at - at))
            }),
        time(io.meanwhile.polled),
        completed.map_or_else(none, since),
        io.total().map_or_else(none, micros),
    ]
}

/// Returns true if some I/O has a plan.
fn is_planned(timeline: &Timeline) -> bool {
    timeline.ios.iter().any(|io| io.plan.is_some())
}

fn plan_cells(io: &TracedIo) -> [String; PLAN_COLUMNS.len()] {
    let microjoules = |joules: Option<Joules>| match joules {
        Some(joules) => format!("{:.1}", joules.0 * 1e6),
        None => "-".into(),
    };
    match &io.plan {
        Some(plan) => [
            steps(plan),
            microjoules(plan.expected),
            microjoules(plan.realised),
        ],
        None => [(); 3].map(|()| "-".into()),
    }
}

/// Returns the QID; if there are several threads, after the number of its thread in the heading.
fn queue(timeline: &Timeline, io: &TracedIo) -> String {
    match timeline.cores.len() {
        1 => io.queue.to_string(),
        _ => format!("{}:{}", io.core, io.queue),
    }
}

fn legend(timeline: &Timeline, text: &mut String) {
    if timeline.cores.len() > 1 {
        text.push_str("q: thread and queue; threads count from 0, as listed above.\n");
    }
    text.push_str(
        "bell: from submission to doorbell.\n\
         woken: the core's last wake-up after the submission, by a timer (t) or an\n\
         \x20 interrupt (i).\n\
         Bar: . doorbell not rung, z asleep by a timer, b blocked for an interrupt,\n\
         \x20 p polling, u user-level wait, - the core ran something else, > cut off.\n",
    );
    if is_planned(timeline) {
        text.push_str(
            "plan: what is done until so many us after the submission, and then; in\n\
             \x20 microjoules of the core, modelled: what that was expected to cost (exp) and\n\
             \x20 what it did (real).\n",
        );
    }
    if timeline.overwritten() > 0 {
        text.push_str(
            "Older events were overwritten: what is left of their I/Os has no submission.\n",
        );
    }
}
