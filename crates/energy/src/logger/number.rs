//! Numbers whose decimal separator is not specified anywhere.

/// Separator of a number's fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimal {
    /// A point: 88.4
    Point,
    /// A comma: 88,4
    Comma,
}

/// Number of a cell, in each possible reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNumber {
    point: Option<f64>,
    comma: Option<f64>,
}

/// Reason why the numbers of a file have no single reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberTrouble {
    /// The number with this index has no reading, or not that of the others.
    NoNumber(usize),
    /// The number with this index has two readings, and no other number shows which is meant.
    Ambiguous(usize),
}

impl LogNumber {
    /// Parses a cell; a cell that is no number in either reading is kept for the message.
    pub fn parse(cell: &str) -> LogNumber {
        LogNumber {
            point: read(cell, '.', ','),
            comma: read(cell, ',', '.'),
        }
    }

    /// Returns the value in one reading.
    fn value(&self, decimal: Decimal) -> Option<f64> {
        match decimal {
            Decimal::Point => self.point,
            Decimal::Comma => self.comma,
        }
    }

    /// Whether both readings are numbers, but different ones.
    fn is_ambiguous(&self) -> bool {
        self.point.is_some() && self.comma.is_some() && self.point != self.comma
    }
}

/// Parses a plain decimal number, with or without thousands separators.
fn read(cell: &str, decimal: char, group: char) -> Option<f64> {
    let cell = cell.trim();
    let (sign, digits) = match cell.strip_prefix(['-', '\u{2212}']) {
        Some(digits) => ("-", digits),
        None => ("", cell),
    };
    let (whole, fraction) = digits.split_once(decimal).unwrap_or((digits, "0"));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split([group, ' ', '\u{a0}', '\u{202f}', '\'']);
    let first = groups.next()?;
    let mut plain = format!("{sign}{first}");
    if !is_digits(first) || !is_digits(fraction) {
        return None;
    }
    for next in groups {
        // A group follows one to three digits that do not begin with a zero.
        let follows = matches!(first.len(), 1..=3) && !first.starts_with('0');
        if !follows || next.len() != 3 || !is_digits(next) {
            return None;
        }
        plain.push_str(next);
    }
    if !cell.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value: f64 = format!("{plain}.{fraction}").parse().ok()?;
    value.is_finite().then_some(value)
}

/// Returns the values in the given reading, or in the one that every number has.
///
/// `separator` separates the cells: a file with commas between its cells has no decimal commas; one with semicolons has
/// them because of decimal commas.
pub fn resolve(
    numbers: &[LogNumber],
    separator: u8,
    said: Option<Decimal>,
) -> Result<Vec<f64>, NumberTrouble> {
    let decimal = match said {
        Some(decimal) => decimal,
        None => guess(numbers, separator)?,
    };
    let values = numbers.iter().enumerate();
    values
        .map(|(at, number)| number.value(decimal).ok_or(NumberTrouble::NoNumber(at)))
        .collect()
}

fn guess(numbers: &[LogNumber], separator: u8) -> Result<Decimal, NumberTrouble> {
    let only = |decimal, other| {
        let mut all = numbers.iter();
        all.any(|number| number.value(decimal).is_some() && number.value(other).is_none())
    };
    if only(Decimal::Point, Decimal::Comma) {
        return Ok(Decimal::Point);
    }
    if only(Decimal::Comma, Decimal::Point) {
        return Ok(Decimal::Comma);
    }
    let Some(at) = numbers.iter().position(LogNumber::is_ambiguous) else {
        return Ok(Decimal::Point);
    };
    // "1.234" is a small number with a decimal point, and a large one with a thousands separator.
    let has_point = numbers[at].point < numbers[at].comma;
    match (separator, has_point) {
        (b',', true) => Ok(Decimal::Point),
        (b';', false) => Ok(Decimal::Comma),
        _ => Err(NumberTrouble::Ambiguous(at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(cells: &[&str], separator: u8) -> Result<Vec<f64>, NumberTrouble> {
        let numbers: Vec<_> = cells.iter().map(|cell| LogNumber::parse(cell)).collect();
        resolve(&numbers, separator, None)
    }

    #[test]
    fn one_number_shows_how_the_others_are_read() {
        assert_eq!(values(&["88.4", "1,234"], b','), Ok(vec![88.4, 1234.0]));
        assert_eq!(values(&["88,4", "1.234"], b';'), Ok(vec![88.4, 1234.0]));
        assert_eq!(
            values(&["1\u{a0}234,5", "12"], b';'),
            Ok(vec![1234.5, 12.0])
        );
        assert_eq!(values(&["0.123", "-5.500"], b';'), Ok(vec![0.123, -5.5]));
        assert_eq!(values(&["1.234.567"], b'\t'), Ok(vec![1_234_567.0]));
    }

    #[test]
    fn three_digits_are_a_fraction_where_the_cells_separator_says_so() {
        assert_eq!(values(&["88.123"], b','), Ok(vec![88.123]));
        assert_eq!(values(&["88,123"], b';'), Ok(vec![88.123]));
        for (cell, separator) in [("88,123", b','), ("88.123", b';'), ("88.123", b'\t')] {
            assert_eq!(
                values(&["7", cell], separator),
                Err(NumberTrouble::Ambiguous(1))
            );
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for cell in [
            "", "W", "1.2.3", "1,2,3", "1e5", "NaN", "inf", "-", ".", "12 34", "1'23", "--1",
        ] {
            assert_eq!(
                values(&["88.4", cell], b','),
                Err(NumberTrouble::NoNumber(1)),
                "{cell}"
            );
        }
        assert_eq!(
            values(&["88.4", "88,4"], b','),
            Err(NumberTrouble::NoNumber(1))
        );
    }
}
