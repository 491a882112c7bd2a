//! Formatting of shares in a grid's tables.

/// Formats the share `fraction` in percent, with one decimal.
pub(super) fn percent(fraction: f64) -> String {
    format!("{:.1}", 100.0 * fraction)
}
