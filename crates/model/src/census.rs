//! The kinds of a profile's figures, counted.

use serde::Serialize;
use toml::Value;

use crate::{Figure, Kind};

/// Number of a profile's figures of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Census {
    /// [`Kind::Published`].
    pub published: usize,
    /// [`Kind::Derived`].
    pub derived: usize,
    /// [`Kind::Measured`].
    pub measured: usize,
    /// [`Kind::Fitted`].
    pub fitted: usize,
    /// [`Kind::Guess`].
    pub guess: usize,
}

impl Census {
    pub(crate) fn of(profile: &impl Serialize) -> Census {
        let mut census = Census::default();
        if let Ok(value) = Value::try_from(profile) {
            census.add(&value);
        }
        census
    }

    fn add(&mut self, value: &Value) {
        if let Ok(figure) = value.clone().try_into::<Figure>() {
            *self.of_kind(figure.kind) += 1;
            return;
        }
        match value {
            Value::Table(table) => table.values().for_each(|value| self.add(value)),
            Value::Array(array) => array.iter().for_each(|value| self.add(value)),
            _ => {}
        }
    }

    fn of_kind(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Published => &mut self.published,
            Kind::Derived => &mut self.derived,
            Kind::Measured => &mut self.measured,
            Kind::Fitted => &mut self.fitted,
            Kind::Guess => &mut self.guess,
        }
    }
}
