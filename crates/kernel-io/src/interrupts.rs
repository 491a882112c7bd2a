//! `/proc/interrupts` (Documentation/filesystems/proc.rst).

use crate::interval::since;
use crate::{Disk, StatsError};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

/// A line: an interrupt, and its count for each CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptLine {
    /// Number, or a name such as `LOC`.
    pub label: String,
    /// Interrupts of each CPU since the system started, in the order of the file; 32 bits in the
    /// kernel.
    pub counts: Vec<u64>,
    /// Chip, trigger and handler: `PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0`.
    pub description: String,
}

/// Counts of all interrupts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupts {
    lines: Vec<InterruptLine>,
}

impl Interrupts {
    /// Reads the counts below `root`: `/`, or a captured file tree.
    ///
    /// # Errors
    /// proc/interrupts cannot be read, or has another format.
    pub fn read(root: impl Into<PathBuf>) -> Result<Interrupts, StatsError> {
        let path = root.into().join("proc/interrupts");
        match fs::read_to_string(&path) {
            Ok(text) => parse(&text).map_err(|line| StatsError::Form { path, line }),
            Err(source) => Err(StatsError::Read { path, source }),
        }
    }

    /// Returns all lines.
    pub fn lines(&self) -> &[InterruptLine] {
        &self.lines
    }

    /// Returns the interrupts since `earlier`, line by line; the counters of 32 bits wrap around, each CPU's by
    /// itself. If CPUs were added or removed in between, each line has one sum.
    #[must_use]
    pub fn since(&self, earlier: &Interrupts) -> Interrupts {
        let before = earlier.lines.iter();
        let before: HashMap<_, _> = before.map(|line| (&line.label, &line.counts)).collect();
        let lines = self.lines.iter().map(|line| InterruptLine {
            counts: match before.get(&line.label) {
                None => line.counts.clone(),
                Some(before) if before.len() == line.counts.len() => {
                    let pairs = before.iter().zip(&line.counts);
                    pairs.map(|(&before, &now)| since(before, now)).collect()
                }
                Some(before) => vec![sum(&line.counts).saturating_sub(sum(before))],
            },
            ..line.clone()
        });
        Interrupts {
            lines: lines.collect(),
        }
    }

    /// Returns the interrupts of the I/O queues of `disk`, on all CPUs. `None` if no line belongs to the disk: it
    /// has none of its own (loop, md, device mapper), or its driver uses other names.
    pub fn of_disk(&self, disk: &Disk) -> Option<u64> {
        total(self.lines_of_disk(disk))
    }

    /// Returns the lines of the I/O queues of `disk`.
    pub fn lines_of_disk<'a>(&'a self, disk: &'a Disk) -> impl Iterator<Item = &'a InterruptLine> {
        self.lines.iter().filter(|line| {
            let mut words = line.description.split([' ', '\t', ',']);
            words.any(|word| disk.controllers.iter().any(|c| is_io_queue(word, c)))
        })
    }

    /// Returns the interrupts of the CPUs' local timers (`LOC`), on all CPUs. `None` on machines without such a
    /// line.
    pub fn timer(&self) -> Option<u64> {
        total(self.lines.iter().filter(|line| line.label == "LOC"))
    }
}

fn total<'a>(lines: impl Iterator<Item = &'a InterruptLine>) -> Option<u64> {
    lines
        .map(|line| sum(&line.counts))
        .reduce(u64::saturating_add)
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, &n| sum.saturating_add(n))
}

/// Returns true for an I/O queue of `controller`: `nvme0q1` of nvme0 (but not its admin queue `nvme0q0`), or
/// `virtio1-req.0` of virtio1.
fn is_io_queue(word: &str, controller: &str) -> bool {
    let Some(queue) = word.strip_prefix(controller) else {
        return false;
    };
    let number = |text: &str| text.parse::<u32>().ok();
    match (queue.strip_prefix('q'), queue.strip_prefix("-req.")) {
        (Some(nvme), _) => number(nvme).is_some_and(|n| n > 0),
        (_, Some(virtio)) => number(virtio).is_some(),
        _ => false,
    }
}

/// Parses the file. The first line names the CPUs; each other line is a label, a count for each CPU (fewer for
/// totals such as `ERR`), and a description. The error is the number of a line with another format.
fn parse(text: &str) -> Result<Interrupts, usize> {
    let mut lines = text.lines().enumerate();
    let (_, header) = lines.next().ok_or(1_usize)?;
    let cpus = header.split_ascii_whitespace().count();
    if cpus == 0 || !header.trim_start().starts_with("CPU") {
        return Err(1);
    }
    let mut parsed = Vec::new();
    for (index, line) in lines {
        parsed.push(parse_line(line, cpus).ok_or(index + 1)?);
    }
    Ok(Interrupts { lines: parsed })
}

fn parse_line(line: &str, cpus: usize) -> Option<InterruptLine> {
    let (label, rest) = line.split_once(':')?;
    let mut rest = rest.trim_start();
    let mut counts = Vec::with_capacity(cpus.min(rest.len()));
    while counts.len() < cpus {
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let Ok(count) = word.parse() else { break };
        counts.push(count);
        rest = after.trim_start();
    }
    (!counts.is_empty()).then(|| InterruptLine {
        label: label.trim().into(),
        counts,
        description: rest.trim_end().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Queue;
    use proptest::prelude::*;

    const TEXT: &str = "\
           CPU0       CPU1
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
 30:          9          0  PCI-MSIX-0000:01:00.0   0-edge      nvme0q0
 31:        100          5  PCI-MSIX-0000:01:00.0   1-edge      nvme0q1
 32:          7          0  PCI-MSIX-0000:01:00.0   2-edge      nvme0q2
 33:       1000          0  PCI-MSIX-0000:02:00.0   1-edge      nvme01q1
 36:          3      63766  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 37:         50          0  PCI-MSIX-0000:00:02.0   0-edge      virtio1-config
 40:          2          0  PCI-MSI 1048576-edge      nvme2q0, nvme2q1
LOC:      76202      84309   Local timer interrupts
ERR:          0
";

    fn disk(controllers: &[&str]) -> Disk {
        Disk {
            name: "any".into(),
            controllers: controllers.iter().map(|&c| c.into()).collect(),
            queue: Queue::default(),
        }
    }

    #[test]
    fn a_disks_interrupts_are_those_of_its_io_queues() {
        let interrupts = parse(TEXT).unwrap();
        let of = |controllers: &[&str]| interrupts.of_disk(&disk(controllers));
        assert_eq!(of(&["nvme0"]), Some(112));
        assert_eq!(of(&["virtio1"]), Some(63769));
        assert_eq!(of(&["nvme2"]), Some(2));
        assert_eq!(of(&["nvme0", "nvme2"]), Some(114));
        assert_eq!(of(&["nvme7"]), None);
        assert_eq!(of(&[]), None);
        assert_eq!(interrupts.timer(), Some(160_511));
        assert_eq!(interrupts.lines().len(), 10);
        assert_eq!(interrupts.lines()[9].counts, [0]);
    }

    #[test]
    fn a_count_that_goes_round_is_not_lost() {
        let of = |counts: &str| {
            let text = format!("  CPU0 CPU1\n 31: {counts} PCI-MSIX nvme0q1\n");
            parse(&text).unwrap()
        };
        let nvme = disk(&["nvme0"]);
        let came = of("4 10").since(&of("4294967290 7"));
        assert_eq!(came.lines()[0].counts, [10, 3]);
        assert_eq!(came.of_disk(&nvme), Some(13));
        let new = of("4 10").since(&Interrupts::default());
        assert_eq!(new.of_disk(&nvme), Some(14));
        // A CPU was removed: its column is gone.
        let fewer = parse("  CPU0\n 31: 20 PCI-MSIX nvme0q1\n").unwrap();
        assert_eq!(fewer.since(&of("10 5")).of_disk(&nvme), Some(5));
        assert_eq!(fewer.since(&of("10 50")).of_disk(&nvme), Some(0));
    }

    #[test]
    fn this_machines_file_is_understood() {
        let interrupts = Interrupts::read("/").unwrap();
        assert!(!interrupts.lines().is_empty());
    }

    #[test]
    fn a_strange_line_is_an_error_that_names_it() {
        assert_eq!(parse("").unwrap_err(), 1);
        assert_eq!(parse("hello\n").unwrap_err(), 1);
        assert_eq!(parse("  CPU0\n 1: 5 x\nnothing\n").unwrap_err(), 3);
        assert_eq!(parse("  CPU0\n 1: x\n").unwrap_err(), 2);
        assert!(Interrupts::read("/nowhere").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(CPU[0-9 ]{0,9}\n)?([ A-Z0-9:,\n-]|.){0,120}") {
            if let Ok(interrupts) = parse(&text) {
                interrupts.of_disk(&disk(&["nvme0"]));
                interrupts.timer();
                let _ = interrupts.since(&parse(TEXT).unwrap());
            }
        }
    }
}
