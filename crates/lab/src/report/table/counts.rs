//! Named counts of the records by the values of factors.

use super::{Mean, Parts, Row, TableMaker, Value};
use crate::report::data::Estimate;
use crate::report::figure::{name, names};
use crate::statistics::Interval;

impl TableMaker<'_> {
    pub(super) fn counts(&self) -> Result<Parts, String> {
        let spec = self.spec;
        let cells = self.cells();
        let columns = names(&cells, spec.columns.values());
        let mut rows = Vec::new();
        for count in &spec.counts {
            let mut values = Vec::new();
            for column in &columns {
                let of = cells.iter().copied();
                let of = of.filter(|c| name(c, spec.columns.values()).as_ref() == Some(column));
                let found: Vec<Estimate> = of.filter_map(|cell| cell.count(count)).collect();
                values.push(match found.as_slice() {
                    [] => Value::None,
                    [one] => Value::Mean(plain(one)),
                    _ => return Err("several points fall into one column".into()),
                });
            }
            if values.iter().any(|value| !matches!(value, Value::None)) {
                rows.push(Row {
                    heads: vec![count.clone()],
                    cells: values,
                });
            }
        }
        Ok((vec!["source".into()], columns, rows))
    }
}

pub(super) fn plain(estimate: &Estimate) -> Mean {
    let Interval { value, low, high } = estimate.mean;
    Mean {
        value,
        interval: (high - low).is_finite().then_some((low, high)),
        band: estimate.band,
        n: estimate.values.len(),
        modelled: estimate.modelled,
        published: None,
        off: None,
    }
}
