//! Prometheus' text format 0.0.4, for node_exporter's textfile collector and for clients that do not accept
//! OpenMetrics.

/// Converts the OpenMetrics `page` to Prometheus' text format, in which a counter's type and help have the name of its
/// sample, and there are no units.
pub(super) fn text_format(page: &str) -> String {
    let counters: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut text = String::with_capacity(page.len());
    for line in page.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words.as_slice() {
            ["#", "UNIT", ..] | ["#", "EOF"] => {}
            ["#", kind, name, rest] if counters.contains(name) => {
                text += &format!("# {kind} {name}_total {rest}\n");
            }
            _ => {
                text += line;
                text += "\n";
            }
        }
    }
    text
}
