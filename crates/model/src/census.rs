//! Numbers of a profile's figures by kind.

use serde::Serialize;
use toml::Value;

use crate::{Figure, FigureKind};

/// Number of a profile's figures of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Census {
    /// [`FigureKind::Published`].
    pub published: usize,
    /// [`FigureKind::Derived`].
    pub derived: usize,
    /// [`FigureKind::Measured`].
    pub measured: usize,
    /// [`FigureKind::Fitted`].
    pub fitted: usize,
    /// [`FigureKind::Guess`].
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

    fn of_kind(&mut self, kind: FigureKind) -> &mut usize {
        match kind {
            FigureKind::Published => &mut self.published,
            FigureKind::Derived => &mut self.derived,
            FigureKind::Measured => &mut self.measured,
            FigureKind::Fitted => &mut self.fitted,
            FigureKind::Guess => &mut self.guess,
        }
    }
}
