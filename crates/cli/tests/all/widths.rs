//! Tables are no wider than the terminal.

use crate::common::{joulio, refused, stdout, thorough};
use tempfile::TempDir;

const TWIN: &str = "bench --twin --machine xeon-6230 --device emulated:optane-p5800x --rw randrw \
                    --completion poll,interrupt --number_ios 500";

/// Returns what `line` prints on a terminal of `width` columns.
fn printed(line: &str, width: usize) -> String {
    let output = joulio(line)
        .env("COLUMNS", width.to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn no_line_of_a_table_is_longer_than_the_terminal() {
    let repeated = format!("{TWIN} --replicates 3");
    for line in [
        TWIN,
        &repeated,
        "profiles",
        "lab list",
        "lab plan hotstorage25 --twin --quick",
        "power",
        "list",
        "list emulated:optane-900p",
        "knobs",
        "twin check HS22",
        "stat --count 1",
        "trace --completion poll --number_ios 3",
        "help metrics",
    ] {
        // Slow commands are only run for one width.
        let widths: &[usize] = if thorough() { &[80, 120] } else { &[80] };
        for &width in widths {
            let text = printed(line, width);
            assert!(text.lines().count() >= 3, "{line}: {text}");
            for row in text.lines() {
                // Commands are not broken, so that they can be copied.
                let is_command = row.trim_start().starts_with("joulio ");
                let fits = row.chars().count() <= width || is_command;
                assert!(fits, "{line} at {width}: {row}");
            }
        }
    }
}

#[test]
fn what_counts_most_stays_and_the_rest_is_named() {
    let text = printed(TWIN, 80);
    let header = text
        .lines()
        .find(|row| row.starts_with(" completion"))
        .unwrap();
    for heading in ["IOPS*", "p99 us*", "W*", "uJ/IO*"] {
        assert!(header.contains(heading), "{header}");
    }
    assert!(text.contains(" no room for "), "{text}");
    let all = printed(&format!("{TWIN} --columns all"), 80);
    assert!(all.contains("sleeps/IO*") && !all.lines().nth(4).unwrap().contains("no room"));
    // A pipe gets every column.
    let room = TempDir::new().unwrap();
    assert!(!stdout(room.path(), TWIN).contains("no room"));
}

#[test]
fn columns_are_chosen_by_their_headings() {
    let text = printed(&format!("{TWIN} --columns p99_us,uj/io"), 80);
    let header = text
        .lines()
        .find(|row| row.starts_with(" completion"))
        .unwrap();
    assert_eq!(header, " completion  p99 us*  uJ/IO*");
    let room = TempDir::new().unwrap();
    let said = refused(room.path(), "bench --columns nothing");
    assert!(
        said.contains("'nothing' is not a column: there are IOPS, "),
        "{said}"
    );
}

#[test]
fn the_verdict_is_the_end() {
    for more in ["", " --replicates 3"] {
        let line = "bench --twin --machine xeon-6230 --device optane-p5800x --number_ios 500 \
                    --completion poll,interrupt --numjobs 2 --per-job --percentile_list 50:95";
        let text = printed(&format!("{line}{more}"), 80);
        let (above, end) = text.trim_end().rsplit_once("\n\n").unwrap();
        assert!(end.starts_with("poll: least energy (wall), "), "{text}");
        assert!(
            above.contains(" p95 us*") && above.contains("job 1"),
            "{text}"
        );
    }
}

#[test]
fn rarer_columns_stand_where_they_are_asked_for() {
    let room = TempDir::new().unwrap();
    assert!(!stdout(room.path(), TWIN).contains("p99.99"));
    let text = printed(&format!("{TWIN} --columns p99.99,IOPS,uintr/IO"), 80);
    let header = text
        .lines()
        .find(|row| row.starts_with(" completion"))
        .unwrap();
    assert_eq!(header, " completion  p99.99 us*   IOPS*");
    assert!(text.contains(" not in these runs: uintr/IO"), "{text}");
}

#[test]
fn jobs_and_devices_have_lines_of_their_own() {
    let line = "bench --twin --machine xeon-6230 --device emulated:optane-p5800x,count=2 --numjobs 2 \
                --completion poll --number_ios 500 --bs 4k:8k --per-job --quiet";
    let output = joulio(line).env("COLUMNS", "80").output().unwrap();
    assert!(output.status.success());
    assert!(output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = |what: &str| {
        let begin = format!(" poll        {what}");
        text.lines().filter(|row| row.starts_with(&begin)).count()
    };
    assert_eq!(rows("job "), 2, "{text}");
    assert_eq!(rows("emulated:optane-p5800x#"), 2, "{text}");
}
