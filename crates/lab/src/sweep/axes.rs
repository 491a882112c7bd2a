//! Lists of factors' values, and all their combinations.

use super::factor::{Factor, FactorError};
use crate::record::Point;

/// Lists of values by factor; every combination is a point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axes {
    /// Lists in the order of [`Factor::ALL`], each with at least one value.
    lists: Vec<(Factor, Vec<String>)>,
}

impl Axes {
    /// Sets the values of `factor`, replacing earlier ones.
    ///
    /// # Errors
    /// There is no value, one is not valid, or one is given twice.
    pub fn set<T: AsRef<str>>(
        &mut self,
        factor: Factor,
        values: impl IntoIterator<Item = T>,
    ) -> Result<(), FactorError> {
        let mut list: Vec<String> = Vec::new();
        for value in values {
            let value = factor.canonical(value.as_ref())?;
            if list.contains(&value) {
                return Err(FactorError::Twice { factor, value });
            }
            list.push(value);
        }
        if list.is_empty() {
            return Err(FactorError::Empty(factor));
        }
        self.remove(factor);
        let at = self.lists.partition_point(|(other, _)| *other < factor);
        self.lists.insert(at, (factor, list));
        Ok(())
    }

    /// Removes `factor`.
    pub fn remove(&mut self, factor: Factor) {
        self.lists.retain(|(other, _)| *other != factor);
    }

    /// Returns the values of `factor`; empty if there are none.
    pub fn values(&self, factor: Factor) -> &[String] {
        let mut lists = self.lists.iter();
        let found = lists.find(|(other, _)| *other == factor);
        found.map_or(&[], |(_, list)| list.as_slice())
    }

    /// Returns the lists of values, in the order of [`Factor::ALL`].
    pub fn lists(&self) -> impl Iterator<Item = (Factor, &[String])> {
        let lists = self.lists.iter();
        lists.map(|(factor, list)| (*factor, list.as_slice()))
    }

    /// Returns the factors with more than one value.
    pub fn varied(&self) -> Vec<Factor> {
        let varied = self.lists.iter().filter(|(_, list)| list.len() > 1);
        varied.map(|(factor, _)| *factor).collect()
    }

    /// Returns the number of points, at most 2^64 - 1.
    pub fn count(&self) -> u64 {
        let lengths = self.lists.iter().map(|(_, list)| list.len() as u64);
        lengths.fold(1, u64::saturating_mul)
    }

    /// Returns every combination; the last factor varies fastest.
    pub fn points(&self) -> Vec<Point> {
        let mut points = vec![Point::new()];
        for (factor, list) in &self.lists {
            let longer = points.iter().flat_map(|point| {
                list.iter().map(|value| {
                    let mut point = point.clone();
                    point.insert(factor.name().into(), value.clone());
                    point
                })
            });
            points = longer.collect();
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(lists: &[(Factor, &[&str])]) -> Axes {
        let mut axes = Axes::default();
        for (factor, values) in lists {
            axes.set(*factor, values.iter()).unwrap();
        }
        axes
    }

    #[test]
    fn lists_are_crossed_and_the_last_factor_changes_first() {
        let axes = axes(&[
            (Factor::Completion, &["poll", "interrupt"]),
            (Factor::Bs, &["4k", "8k"]),
            (Factor::Rw, &["randread"]),
        ]);
        let points = axes.points();
        let shown: Vec<_> = points
            .iter()
            .map(|point| [point["bs"].as_str(), point["completion"].as_str()])
            .collect();
        let all = [
            ["4k", "poll"],
            ["4k", "interrupt"],
            ["8k", "poll"],
            ["8k", "interrupt"],
        ];
        assert_eq!(shown, all);
        assert_eq!(axes.count(), 4);
        assert_eq!(axes.varied(), [Factor::Bs, Factor::Completion]);
        assert!(points.iter().all(|point| point["rw"] == "randread"));
    }

    #[test]
    fn a_list_has_each_value_once_and_at_least_one() {
        let mut axes = Axes::default();
        let twice = axes.set(Factor::Bs, ["4k", "4096"]).unwrap_err();
        assert_eq!(twice.to_string(), "bs: 4k is given twice");
        let empty = axes.set(Factor::Bs, [] as [&str; 0]).unwrap_err();
        assert!(empty.to_string().contains("bs: an empty list"), "{empty}");
        axes.set(Factor::Bs, ["4k"]).unwrap();
        axes.set(Factor::Bs, ["8k"]).unwrap();
        assert_eq!(axes.values(Factor::Bs), ["8k"]);
    }
}
