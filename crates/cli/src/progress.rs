//! Progress bars on a terminal; elsewhere nothing is shown.

use indicatif::{ProgressBar, ProgressStyle};

/// Creates a bar of `length` steps, drawn according to indicatif's `template`.
pub fn bar(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    // Templates are constants, which the tests check.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}
