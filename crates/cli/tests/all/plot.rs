//! `joulio bench --plot`: figures of a sweep as a drawing or a page.

use crate::common::{contents, joulio, refused, unread};
use std::fs;
use std::path::Path;
use tempfile::{TempDir, tempdir};

const SWEEP: &str = "bench --twin --machine xeon-e3-1230v5 --device optane-900p --number_ios 500 \
                     --completion poll,interrupt";

fn room() -> TempDir {
    tempdir().expect("a temporary directory")
}

/// Runs a sweep with `flags` and `--plot`, and returns the content of the file.
fn plotted(room: &Path, flags: &str, file: &str) -> String {
    let line = format!("{SWEEP} {flags} --plot {file}");
    let output = joulio(&line).current_dir(room).assert().success();
    let table = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(table.contains("uJ/IO"), "{table}");
    fs::read_to_string(room.join(file)).expect("a file")
}

/// Panics unless every element of `xml` is closed in the right order, and every `<` and `&` is valid XML.
fn assert_well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        let (text, after) = rest.split_at(at);
        let entities = text.match_indices('&').map(|(at, _)| &text[at..]);
        for entity in entities {
            let known = ["&amp;", "&lt;", "&gt;", "&quot;"];
            assert!(known.iter().any(|one| entity.starts_with(one)), "{entity}");
        }
        let end = after.find('>').expect("an end of a tag");
        let tag = &after[1..end];
        assert!(!tag.contains('<'), "{tag}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        ids.extend(
            tag.split(" id=\"")
                .nth(1)
                .and_then(|id| id.split('"').next()),
        );
        let name = tag.split_whitespace().next().expect("a name");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(name),
        }
        rest = &after[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id is given twice");
}

#[test]
fn a_drawing_has_each_mode_its_axes_and_both_themes() {
    let room = room();
    let svg = plotted(room.path(), "--iodepth 1,2,8", "out.svg");
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert_well_formed(&svg);
    for words in [
        ">poll</text>",
        ">interrupt</text>",
        ">mean latency, µs</text>",
        ">p99 latency, µs</text>",
        ">IOPS</text>",
        ">energy, µJ/IO</text>",
        ">I/O depth</text>",
        ">I/Os done by then, %</text>",
        ">I/O depth 8</text>",
        ">hatched: modelled, not measured</text>",
        "energy within: ",
        "prefers-color-scheme: dark",
        "poll at 8: ",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    // Two latencies, IOPS, energy and three distributions, with a line for each mode.
    assert_eq!(svg.matches("<polyline").count(), 2 * (2 + 1 + 1 + 3));
    assert_eq!(svg.matches("http").count(), 1);
    // The same seed gives the same drawing.
    assert_eq!(plotted(room.path(), "--iodepth 1,2,8", "again.svg"), svg);
}

#[test]
fn a_page_has_the_numbers_and_needs_no_network() {
    let room = room();
    let flags = "--bs 4k,16k --rw randread,randwrite --replicates 3";
    let html = plotted(room.path(), flags, "out.html");
    for reference in ["http:", "https:", "src=", "@import", "url(h"] {
        assert!(!html.contains(reference), "{reference}");
    }
    for words in [
        "Everything here is modelled.",
        "Numbers of F1",
        "<th scope=\"col\">request size</th>",
        "<h4>randwrite</h4>",
        " ± ",
        "p99.9",
        "prefers-color-scheme: dark",
    ] {
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn a_drawing_is_written_also_if_nobody_reads_the_table() {
    let room = room();
    let output = unread(room.path(), &format!("{SWEEP} --plot out.svg"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let svg = fs::read_to_string(room.path().join("out.svg")).expect("a file");
    assert_well_formed(&svg);
}

#[test]
fn what_cannot_be_drawn_to_is_refused_before_the_first_run() {
    let room = room();
    fs::write(room.path().join("kept.svg"), "mine").expect("written");
    for (file, hint) in [
        ("x.png", "FILE.svg or FILE.html"),
        ("x", "FILE.svg or FILE.html"),
        ("no/such/x.svg", "there is no folder no/such"),
        ("kept.svg", "exists already"),
    ] {
        let before = contents(room.path());
        let said = refused(room.path(), &format!("{SWEEP} --plot {file}"));
        assert!(said.contains("--plot") && said.contains(hint), "{said}");
        assert_eq!(contents(room.path()), before);
    }
    let svg = plotted(room.path(), "--force", "kept.svg");
    assert!(svg.contains("Latency by completion mode"));
}

#[test]
fn a_sweep_that_was_kept_can_be_drawn_without_its_histograms() {
    let room = room();
    let flags = "--iodepth 1,2 --state runs.jsonl";
    let run = format!("{SWEEP} {flags}");
    joulio(&run).current_dir(room.path()).assert().success();
    let svg = plotted(room.path(), flags, "out.svg");
    assert!(svg.contains("kept without their histograms"));
    assert_well_formed(&svg);
}
