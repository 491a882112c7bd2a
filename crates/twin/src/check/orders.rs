//! The order of methods, wherever what was printed differs.

use super::{NumberCheck, TIE};
use crate::published::Paper;
use serde::Serialize;

/// Two numbers of which one was printed larger.
#[derive(Clone, Debug, Serialize)]
pub struct PublishedOrder {
    /// The source's short name.
    pub paper: String,
    /// The larger.
    pub more: String,
    /// The smaller.
    pub less: String,
    /// Fraction by which the larger was printed larger.
    pub published: f64,
    /// Fraction by which it is larger in the twin.
    pub modelled: f64,
    /// True if the same number is the larger in the twin.
    pub kept: bool,
}

/// Returns every pair of numbers of `paper` that are in an order.
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
