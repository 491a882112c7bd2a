//! Assembly, CPUID and other code for one architecture are only in one folder, which has the same items for each.

use crate::files::{rust_files, workspace};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Folder that may contain such code.
const ARCH: &str = "crates/cpu/src/arch";

/// Returns words in the code of `source`, without comments, that are specific to an architecture.
fn words_of_an_architecture(source: &str) -> impl Iterator<Item = &'static str> {
    // Split in halves, so that this file does not contain them.
    const WORDS: [&str; 6] = [
        concat!("as", "m!("),
        concat!("std::", "arch::"),
        concat!("core::", "arch::"),
        concat!("target", "_arch"),
        concat!("raw", "_cpuid"),
        concat!("_feature", "_detected!"),
    ];
    let code = source.lines().map(str::trim_start);
    let code: Vec<_> = code.filter(|line| !line.starts_with("//")).collect();
    let has = move |word: &&str| code.iter().any(|line| line.contains(*word));
    WORDS.into_iter().filter(has)
}

#[test]
fn assembly_is_in_its_folder_and_nowhere_else() -> Result<()> {
    let mut outside = Vec::new();
    let mut inside = BTreeSet::new();
    for path in rust_files(&workspace().join("crates"))? {
        let words: Vec<_> = words_of_an_architecture(&fs::read_to_string(&path)?).collect();
        match path.strip_prefix(workspace().join(ARCH)) {
            Ok(path) => inside.extend((!words.is_empty()).then(|| path.to_path_buf())),
            Err(_) if words.is_empty() => {}
            Err(_) => outside.push((path, words)),
        }
    }
    assert!(outside.is_empty(), "not in {ARCH}: {outside:#?}");
    for arch in ["aarch64", "x86_64"] {
        assert!(
            inside.iter().any(|path| path.starts_with(arch)),
            "{arch}: {inside:?}"
        );
    }
    Ok(())
}
