//! Names of figures in profiles, such as `machine:xeon-6230.costs.wake_ns`.

use joulio_model::Figure;
use std::fmt;
use std::str::FromStr;
use toml::Value;

/// Place of a figure in a profile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProfileField {
    /// True for a profile of a machine, false for one of a device.
    pub machine: bool,
    /// The profile's name.
    pub profile: String,
    /// Path in the profile: keys, and indices of arrays.
    pub path: Vec<String>,
}

/// Errors in the name of a figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The text is not the name of a field.
    #[error("'{0}' is not a field: write machine:PROFILE.FIELD or device:PROFILE.FIELD")]
    Name(String),
    /// The profile has no such figure.
    #[error("{0}: the profile has no such figure")]
    Missing(ProfileField),
}

impl FromStr for ProfileField {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<ProfileField, FieldError> {
        let refused = || FieldError::Name(text.to_owned());
        let (kind, rest) = text.split_once(':').ok_or_else(refused)?;
        let mut parts = rest.split('.').map(str::to_owned);
        let profile = parts.next().ok_or_else(refused)?;
        let path: Vec<_> = parts.collect();
        let machine = match kind {
            "machine" => true,
            "device" => false,
            _ => return Err(refused()),
        };
        if profile.is_empty() || path.is_empty() {
            return Err(refused());
        }
        Ok(ProfileField {
            machine,
            profile,
            path,
        })
    }
}

impl fmt::Display for ProfileField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.machine { "machine" } else { "device" };
        write!(f, "{kind}:{}.{}", self.profile, self.path.join("."))
    }
}

impl ProfileField {
    /// Returns the figure from `values`, a profile in generic form.
    ///
    /// # Errors
    /// The profile has no such figure.
    pub fn get(&self, values: &Value) -> Result<Figure, FieldError> {
        let found = self.path.iter().try_fold(values, |at, key| match at {
            Value::Array(array) => array.get(key.parse::<usize>().ok()?),
            at => at.get(key),
        });
        let figure = found.and_then(|value| value.clone().try_into().ok());
        figure.ok_or_else(|| FieldError::Missing(self.clone()))
    }

    /// Sets the value of the figure, and widens its band if that must contain the value.
    ///
    /// # Errors
    /// The profile has no such figure.
    pub fn set(&self, values: &mut Value, to: f64) -> Result<(), FieldError> {
        let mut figure = self.get(values)?;
        figure.value = to;
        figure.band = figure.band.map(|[low, high]| [low.min(to), high.max(to)]);
        let missing = || FieldError::Missing(self.clone());
        let mut at = values;
        for key in &self.path {
            at = match at {
                Value::Array(array) => {
                    let index = key.parse::<usize>().map_err(|_| missing())?;
                    array.get_mut(index).ok_or_else(missing)?
                }
                at => at.get_mut(key).ok_or_else(missing)?,
            };
        }
        *at = Value::try_from(figure).map_err(|_| missing())?;
        Ok(())
    }
}
