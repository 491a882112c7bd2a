//! Public items, fields of errors and constants are called by the field's words, not by old ones that those replaced.

use crate::files::{rust_files, workspace};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Old words that are no part of a name, and the words to use instead.
const WORDS: [(&str, &str); 25] = [
    ("asked", "requested"),
    ("obtained", "effective"),
    ("unobtained", "unavailable"),
    ("told", "reported"),
    ("untold", "undecided"),
    ("most", "max"),
    ("least", "min"),
    ("contender", "candidate"),
    ("contenders", "candidates"),
    ("seer", "oracle"),
    ("scene", "scenario"),
    ("scenes", "scenarios"),
    ("look", "poll"),
    ("looks", "polls"),
    ("way", "completion mode"),
    ("ways", "completion modes"),
    ("aim", "redirect"),
    ("aimed", "redirected"),
    ("revive", "reset"),
    ("revival", "reset"),
    ("renew", "reset"),
    ("deaf", "what it does not receive"),
    ("minded", "what it does"),
    ("tally", "what it counts"),
    ("tallies", "what they count"),
];

/// First words of constants that are limits and begin with `MAX_` or `MIN_` instead.
const LIMITS: [&str; 7] = [
    "most", "least", "largest", "longest", "smallest", "shortest", "fewest",
];

/// Names in which such a word has another meaning: room, name and reason.
const EXCEPTIONS: [(&str, &str, &str); 5] = [
    (
        "job",
        "LeastIops",
        "a measured rate, that of the slowest job, not a limit",
    ),
    (
        "lab",
        "Most",
        "a majority of cells; experiment files call it most",
    ),
    (
        "lab",
        "at_least",
        "true if a sum is a lower bound, which is printed as at least",
    ),
    (
        "trace",
        "LEAST_WANTED",
        "the columns that are wanted least, not a limit",
    ),
    (
        "wait",
        "AIM",
        "the share of a limit that plans aim at; no vector is redirected",
    ),
];

/// A name that the rule is about.
struct Named {
    line: usize,
    name: String,
    is_constant: bool,
}

impl Named {
    /// Returns what to use instead of a word of the name.
    fn better(&self) -> Option<&'static str> {
        let parts = parts(&self.name);
        if self.is_constant && LIMITS.contains(&parts[0].as_str()) {
            return Some("MAX_ or MIN_, and what it limits");
        }
        let mut words = WORDS.iter();
        let found = words.find(|(old, _)| parts.iter().any(|part| part.as_str() == *old));
        found.map(|(_, new)| *new)
    }
}

/// Returns the words of a name in lower case.
fn parts(name: &str) -> Vec<String> {
    let (mut snake, mut before) = (String::new(), '_');
    for c in name.chars() {
        if c.is_ascii_uppercase() && before.is_ascii_lowercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
        before = c;
    }
    snake.split('_').map(String::from).collect()
}

/// Returns the identifier at the start of `text`, which may be empty.
fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Returns the name of a constant or static, public or not.
fn constant(text: &str) -> Option<&str> {
    let item = match text.strip_prefix("pub") {
        Some(rest) => rest.split_once(' ')?.1,
        None => text,
    };
    let item = item
        .strip_prefix("const ")
        .or_else(|| item.strip_prefix("static "))?;
    let (name, _) = item.split_once(':')?;
    let shouts = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(shouts).then_some(name)
}

/// Returns the name of a public item or field.
fn public(text: &str) -> Option<&str> {
    const KEYWORDS: [&str; 13] = [
        "async", "const", "enum", "extern", "\"C\"", "fn", "mod", "static", "struct", "trait",
        "type", "union", "unsafe",
    ];
    let mut words = text.strip_prefix("pub ")?.split_whitespace();
    words.find(|word| !KEYWORDS.contains(word)).map(identifier)
}

/// Returns the name of a field.
fn field(text: &str) -> Option<&str> {
    let (name, _) = text.split_once(": ")?;
    (identifier(name) == name).then_some(name)
}

/// Returns the name of a variant of an enum at the start of `line`, which is indented once.
fn variant(line: &str) -> Option<&str> {
    let text = line.strip_prefix("    ")?;
    text.starts_with(|c: char| c.is_ascii_uppercase())
        .then(|| identifier(text))
}

/// Returns the names of public items, of their variants and fields, of the fields of errors, and of constants.
fn named(source: &str) -> Vec<Named> {
    let (mut in_error, mut in_enum) = (false, false);
    let mut found = Vec::new();
    for (at, line) in source.lines().enumerate() {
        let text = line.trim();
        if text.starts_with("//") {
            continue;
        }
        in_error = line != "}" && (in_error || text.contains("thiserror::Error"));
        in_enum = line != "}" && (in_enum || line.starts_with("pub enum ") && line.ends_with('{'));
        let constant = constant(text);
        let name = constant
            .or_else(|| public(text))
            .or_else(|| field(text).filter(|_| in_error))
            .or_else(|| variant(line).filter(|_| in_enum));
        found.extend(name.map(|name| Named {
            line: at + 1,
            name: name.to_owned(),
            is_constant: constant.is_some(),
        }));
    }
    found
}

#[test]
fn old_words_are_no_part_of_a_name() -> Result<()> {
    let (mut wrong, mut excepted, mut count) = (Vec::new(), BTreeSet::new(), 0);
    for folder in ["crates", "fuzz/fuzz_targets"] {
        for path in rust_files(&workspace().join(folder))? {
            for found in named(&fs::read_to_string(&path)?) {
                count += 1;
                let Some(better) = found.better() else {
                    continue;
                };
                let exception = EXCEPTIONS.iter().find(|(room, name, _)| {
                    *name == found.name && path.starts_with(workspace().join("crates").join(room))
                });
                match exception {
                    Some((room, name, _)) => {
                        excepted.insert((*room, *name));
                    }
                    None => wrong.push(format!(
                        "{}:{}: {}: use {better}",
                        path.display(),
                        found.line,
                        found.name
                    )),
                }
            }
        }
    }
    assert!(count > 5000, "{count} names");
    assert!(wrong.is_empty(), "{wrong:#?}");
    let listed: BTreeSet<_> = EXCEPTIONS
        .iter()
        .map(|&(room, name, _)| (room, name))
        .collect();
    assert_eq!(excepted, listed, "an exception that nothing needs");
    Ok(())
}

#[test]
fn an_old_word_is_found_where_it_counts() {
    let wrong = |source: &str| named(source).iter().any(|name| name.better().is_some());
    assert!(wrong("pub fn told(&self) -> bool {"));
    assert!(wrong("pub const fn is_deaf() -> bool {"));
    assert!(wrong("pub struct SceneOptions {"));
    assert!(wrong("    pub asked_seconds: f64,"));
    assert!(wrong("const LARGEST: u64 = 4;"));
    assert!(wrong("pub(crate) const MOST_FILES: u64 = 4;"));
    assert!(wrong("pub enum Found {\n    Contender,\n}"));
    let error = "#[derive(Debug, thiserror::Error)]\npub enum E {\n    Size {\n        least: u64,\n    },\n}";
    assert!(wrong(error));
    assert!(!wrong("struct S {\n    least: u64,\n}"));
    assert!(!wrong("pub(super) fn least(of: &[f64]) -> f64 {"));
    assert!(!wrong("pub fn always(&self) -> bool {"));
    assert!(!wrong("/// const LARGEST: u64 = 4;"));
    assert!(!wrong("pub fn longest(&self) -> Nanos {"));
    assert!(!wrong("let least: u64 = 4;"));
}
