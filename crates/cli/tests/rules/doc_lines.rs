//! First lines of documentation: each stands alone in an index, as a noun phrase or as a description of what a function
//! does, and can be understood without any other line.

use crate::files::rust_files;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Folder of the room `cli`.
const CLI: &str = env!("CARGO_MANIFEST_DIR");

/// Words that refer to another line.
const BACKWARDS: [&str; 8] = ["It", "Its", "That", "Of", "They", "These", "Their", "Those"];

/// Words that begin a sentence without a subject or a verb of its own: "Has the vector masked", "Does a command".
const FILLERS: [&str; 3] = ["Has", "Does", "What"];

/// Words that begin a clause without a noun.
const CLAUSES: [&str; 17] = [
    "Which", "Who", "Whose", "How", "Where", "When", "From", "To", "As", "This", "Here", "There",
    "Also", "Both", "At", "By", "For",
];

/// A documented item.
struct Documented {
    line: usize,
    /// First line of its documentation.
    text: String,
    /// The item's own lines, up to its body.
    item: String,
    /// True within a public enum or trait, for its variants and functions.
    is_part: bool,
}

impl Documented {
    fn first_word(&self) -> &str {
        let word = self.text.split_whitespace().next().unwrap_or_default();
        word.trim_end_matches([',', '.', ':', ';'])
    }

    /// Returns true for entries of a crate's or module's index: public items, and files.
    fn is_entry(&self) -> bool {
        self.item.is_empty() || self.item.starts_with("pub ")
    }

    fn is_public(&self) -> bool {
        self.is_entry() || self.is_part
    }

    fn is_wrong(&self) -> bool {
        let word = self.first_word();
        let clause = CLAUSES.contains(&word) || word == "Whether" && !self.item.contains("bool");
        BACKWARDS.contains(&word)
            || FILLERS.contains(&word)
            || self.text.starts_with("The same ")
            || self.is_public() && clause
    }
}

/// Returns the documented items of `source`; the comment at the head of a file has no item.
fn documented(source: &str) -> Vec<Documented> {
    let lines: Vec<_> = source.lines().map(str::trim).collect();
    let mut found = Vec::new();
    // Indentation of the public enum or trait that contains the line.
    let mut within = None;
    for (at, (line, text)) in source.lines().zip(&lines).enumerate() {
        let indentation = line.len() - line.trim_start().len();
        if within == Some(indentation) && *text == "}" {
            within = None;
        } else if within.is_none() && has_public_parts(text) {
            within = Some(indentation);
        }
        let goes_on = |mark| at > 0 && lines[at - 1].starts_with(mark);
        let item = match (text.strip_prefix("//!"), text.strip_prefix("///")) {
            (Some(_), _) if !goes_on("//!") => String::new(),
            (_, Some(_)) if !goes_on("///") => {
                let rest = lines[at..].iter();
                let rest = rest.skip_while(|line| line.starts_with("///") || line.starts_with('#'));
                let body = |line: &&&str| !line.ends_with(['{', ';', ',']);
                let head: Vec<_> = rest.clone().take_while(body).take(8).copied().collect();
                let last = rest.copied().nth(head.len()).unwrap_or_default();
                format!("{} {last}", head.join(" ")).trim().to_owned()
            }
            _ => continue,
        };
        found.push(Documented {
            line: at + 1,
            text: text[3..].trim().to_owned(),
            item,
            is_part: within.is_some(),
        });
    }
    found
}

/// Returns true for the first line of a public enum or trait that goes on in the lines below.
fn has_public_parts(line: &str) -> bool {
    let heads = ["pub enum ", "pub trait ", "pub unsafe trait "];
    heads.iter().any(|head| line.starts_with(head)) && !line.ends_with('}')
}

/// Returns every source file of the workspace, except tests.
fn sources() -> Result<Vec<PathBuf>> {
    let crates = Path::new(CLI).parent().ok_or("a room without a folder")?;
    let mut files = Vec::new();
    for room in fs::read_dir(crates)? {
        files.extend(rust_files(&room?.path().join("src"))?);
    }
    Ok(files)
}

#[test]
fn a_doc_line_stands_alone() -> Result<()> {
    let files = sources()?;
    assert!(files.len() > 500, "{} files", files.len());
    let mut wrong = Vec::new();
    for path in files {
        // Comments on flags and on their values are help texts.
        let help = path.starts_with(CLI);
        for doc in documented(&fs::read_to_string(&path)?) {
            if doc.is_wrong() && (!help || doc.is_entry()) {
                wrong.push(format!("{}:{}: {}", path.display(), doc.line, doc.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn what_leans_on_another_line_is_found() {
    let wrong = |source: &str| documented(source).iter().any(Documented::is_wrong);
    assert!(wrong("/// Its length.\nlength: u64,"));
    assert!(wrong(
        "/// What was requested.\npub fn options(&self) -> &Options {"
    ));
    assert!(wrong("//! How a run fails."));
    assert!(wrong("/// Has the vector masked.\nfn mask(&self) {"));
    assert!(wrong(
        "/// Whether it rises.\npub fn rises(&self) -> Verdict {"
    ));
    assert!(!wrong(
        "/// Whether it rises.\npub fn rises(&self) -> bool {"
    ));
    assert!(!wrong("/// When the link falls free.\nlink_free: Nanos,"));
    assert!(wrong(
        "pub enum Waits {\n    /// Also this one.\n    More,\n}"
    ));
    assert!(wrong(
        "pub trait Waits {\n    /// Which of them.\n    fn which(&self) -> u8;\n}"
    ));
    assert!(!wrong("enum Waits {\n    /// For people.\n    Normal,\n}"));
    assert!(!wrong(
        "pub enum Waits {\n    /// Spin.\n    Spin,\n}\n/// When it ends.\nend: Nanos,"
    ));
    assert!(!wrong(
        "/// Length in bytes.\n#[serde(default)]\npub length: u64,"
    ));
}
