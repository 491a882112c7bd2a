//! Progress on a terminal; silent elsewhere.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `length` steps, as `template` of indicatif's describes.
pub fn bar(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    // Templates are constants: they parse or the tests fail.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}
