//! A value or a list of values.

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;

/// Values of factors that select records, by the factors' names. All values of a factor that is missing are selected.
pub type Where = BTreeMap<String, OneOrMore>;

/// A text or number, or a list: `"4k"`, `8`, `["4k", "32k"]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneOrMore(Vec<String>);

impl OneOrMore {
    /// Returns the values in their order.
    pub fn values(&self) -> &[String] {
        &self.0
    }

    /// Returns true if `value` is one of them.
    pub fn has(&self, value: &str) -> bool {
        self.0.iter().any(|one| one == value)
    }

    /// Returns true if there is no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Into<String>> FromIterator<T> for OneOrMore {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> OneOrMore {
        OneOrMore(values.into_iter().map(Into::into).collect())
    }
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneOrMore, D::Error> {
        deserializer.deserialize_any(Values)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = OneOrMore;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a whole number, or a list of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<OneOrMore, E> {
        Ok(OneOrMore(vec![text.to_owned()]))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<OneOrMore, E> {
        Ok(OneOrMore(vec![number.to_string()]))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<OneOrMore, E> {
        Ok(OneOrMore(vec![number.to_string()]))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<OneOrMore, E> {
        Ok(OneOrMore(vec![value.to_string()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMore, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element::<OneOrMore>()? {
            all.extend(one.0);
        }
        match all.is_empty() {
            true => Err(A::Error::custom(
                "an empty list: name a value, or leave it out",
            )),
            false => Ok(OneOrMore(all)),
        }
    }
}
