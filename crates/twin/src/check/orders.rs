//! The order of methods, for every two whose published numbers differ.

use super::{NumberCheck, TIE};
use crate::published::Paper;
use serde::Serialize;

/// Two published numbers, one larger than the other.
#[derive(Clone, Debug, Serialize)]
pub struct PublishedOrder {
    /// The source's short name.
    pub paper: String,
    /// Description of the larger number.
    pub more: String,
    /// Description of the smaller number.
    pub less: String,
    /// Fraction by which the larger number exceeds the smaller one, as published.
    pub published: f64,
    /// Fraction by which it exceeds the smaller one in the twin.
    pub modelled: f64,
    /// True if the same number is larger in the twin.
    pub kept: bool,
}

/// Returns every two numbers of `paper` that have an order.
pub(crate) fn orders(paper: &Paper, rows: &[NumberCheck]) -> Vec<PublishedOrder> {
    let mut orders = Vec::new();
    for (i, a) in rows.iter().enumerate() {
        let beside =
            |b: &&NumberCheck| a.order.is_some() && b.order == a.order && b.metric == a.metric;
        for b in rows[i + 1..].iter().filter(beside) {
            let (more, less) = if a.published >= b.published {
                (a, b)
            } else {
                (b, a)
            };
            let published = more.published / less.published - 1.0;
            if published > TIE {
                let modelled = more.modelled / less.modelled - 1.0;
                orders.push(PublishedOrder {
                    paper: paper.name.clone(),
                    more: more.what.clone(),
                    less: less.what.clone(),
                    published,
                    modelled,
                    kept: modelled > 0.0,
                });
            }
        }
    }
    orders
}
