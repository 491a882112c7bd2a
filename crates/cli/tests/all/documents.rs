//! Tests of completions and manual pages.

use crate::common::{joulio, refused, stdout};
use std::fs;
use tempfile::TempDir;

#[test]
fn every_shell_has_completions_that_know_the_subcommands() {
    let room = TempDir::new().expect("a folder");
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(room.path(), &format!("completions {shell}"));
        for word in ["bench", "power-states", "completion"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(refused(room.path(), "completions csh").contains("csh"));
}

#[test]
fn every_subcommand_has_a_manual_page() {
    let room = TempDir::new().expect("a folder");
    let folder = room.path().join("man");
    let date = ["--date", "2026-05-31"];
    joulio("man").arg(&folder).args(date).assert().success();
    for page in ["joulio", "joulio-bench", "joulio-stat", "joulio-twin-check"] {
        let text = fs::read_to_string(folder.join(format!("{page}.1"))).expect(page);
        assert!(text.contains(".SH NAME"), "{page}");
        let head = format!(".TH {} 1 \"2026-05-31\" \"joulio ", page.to_uppercase());
        assert!(text.contains(&head), "{page}");
        assert!(!text.lines().any(|line| line.ends_with(' ')), "{page}");
    }
    let hidden = folder.join("joulio-job-process.1");
    assert!(!hidden.exists(), "a subcommand that nobody types");
    let file = room.path().join("file");
    fs::write(&file, "").expect("written");
    let said = refused(room.path(), &format!("man {}", file.display()));
    assert!(said.contains("file: "), "{said}");
}
