//! Output of `joulio twin fit --hold-out`.

use super::check::figure;
use crate::columns::columns;
use joulio_twin::hold_out::{Prediction, Score};
use std::fmt::Write;

/// Formats the predictions number by number, and a summary line for each part.
pub fn text(predictions: &[Prediction]) -> String {
    let mut text = String::new();
    for (number, one) in (1..).zip(predictions) {
        section(&mut text, number, one);
    }
    let header = [
        "", "source", "speeds", "mean %*", "worst %*", "CPU", "in 15 %*", "in 30 %*", "orders",
        "right*",
    ];
    let each = (1..).zip(predictions).map(|(number, one): (u32, _)| {
        let score = Score::of(std::slice::from_ref(one));
        line(format!("{number}."), &one.paper, &score)
    });
    let all = line("all".into(), "", &Score::of(predictions));
    text.push_str(&columns(
        header.map(str::to_owned).to_vec(),
        each.chain([all]),
        2,
    ));
    text.push_str(
        "speeds: I/Os a second, or latencies where a source has no others; CPU: microseconds an I/O; of their\n\
         errors the mean and the largest, and the share of those up to 15 and 30 %\n\
         *: modelled\n",
    );
    text
}

fn section(text: &mut String, number: u32, one: &Prediction) {
    let _ = writeln!(text, "{number}. {}: {}", one.paper, one.what);
    let header = ["withheld", "published", "predicted*", "error"];
    let rows = one.numbers.iter().map(|row| {
        vec![
            row.what.clone(),
            figure(row.published),
            figure(row.modelled),
            format!("{:+.1} %", 100.0 * row.error),
        ]
    });
    text.push_str(&columns(header.map(str::to_owned).to_vec(), rows, 1));
    for order in one.orders.iter().filter(|order| !order.kept) {
        let _ = writeln!(
            text,
            "wrong order: {} over {}: {:+.1} % printed, {:+.1} % predicted",
            order.more,
            order.less,
            100.0 * order.published,
            100.0 * order.modelled
        );
    }
    if !one.undecided.is_empty() {
        let fields = one.undecided.join(", ");
        let _ = writeln!(text, "not decided by what is left: {fields}");
    }
    text.push('\n');
}

fn line(name: String, paper: &str, score: &Score) -> Vec<String> {
    let percent = |share: f64, count: usize| match count {
        0 => "-".to_owned(),
        _ => format!("{:.1}", 100.0 * share),
    };
    let Score { speed, cpu, .. } = score;
    vec![
        name,
        paper.to_owned(),
        speed.count.to_string(),
        percent(speed.mean, speed.count),
        percent(speed.worst, speed.count),
        cpu.count.to_string(),
        percent(cpu.within_15, cpu.count),
        percent(cpu.within_30, cpu.count),
        score.orders.to_string(),
        score.orders_right.to_string(),
    ]
}
