//! A column's heading: `Active Power, W (LGR S/N: 1, SEN S/N: 2, LBL: fan)`.

use super::ImportError;

/// Names of a power in the languages of HOBOware.
const POWERS: [&str; 9] = [
    "active power",
    "power",
    "puissance active",
    "puissance",
    "wirkleistung",
    "leistung",
    "potencia activa",
    "potência ativa",
    "potenza attiva",
];

/// Names of the date, if it has a column of its own.
const DATES: [&str; 4] = ["date", "datum", "fecha", "data"];

/// Beginnings of the words for an average, in the headings of a deployment with statistics.
const AVERAGES: [&str; 5] = ["avg", "average", "moy", "mitt", "durch"];

/// A column, as its heading describes it.
#[derive(Clone, Debug)]
pub struct Heading {
    /// Text of the heading.
    pub text: String,
    /// Text before the first comma, without a statistic's name.
    pub name: String,
    /// Text after the comma, up to the properties.
    unit: String,
    statistic: Option<String>,
    /// Offset from UTC, as in `Date Time, GMT-05:00`; `Err` if it is not valid.
    pub offset: Option<Result<i32, ()>>,
}

/// The columns that are used, by their content.
pub struct Columns {
    /// Offset of the times from UTC, in seconds east.
    pub offset: i32,
    /// Index of the date, if it has a column of its own.
    pub date: Option<usize>,
    /// Index of the time, or of the date and the time.
    pub time: usize,
    /// Index of the power.
    pub power: usize,
    /// Watts of one unit of that column.
    pub scale: f64,
    /// Whether the power is the mean over the interval before the sample's time.
    pub averaged: bool,
}

impl Heading {
    pub fn new(text: &impl AsRef<str>) -> Heading {
        let text = text.as_ref().trim();
        let plain = text.split(" (LGR").next().unwrap_or(text);
        // Files contain "Temp, (*F)", "Temp, °C" and "Date Time - GMT -07:00".
        let (name, rest) = plain
            .split_once(',')
            .or_else(|| plain.split_once(" - "))
            .or_else(|| plain.split_once('('))
            .unwrap_or((plain, ""));
        let (statistic, name) = match name.split_once(':') {
            Some((statistic, name)) => (Some(statistic.trim().to_lowercase()), name),
            None => (None, name),
        };
        let unit = rest.trim().trim_start_matches('(');
        let unit = unit.split([')', '(']).next().unwrap_or("").trim();
        Heading {
            text: text.into(),
            name: name.trim().to_lowercase(),
            unit: unit.into(),
            statistic,
            offset: offset(rest),
        }
    }

    /// Returns the watts of one unit; `None` if it is not a unit of power.
    fn watts(&self) -> Option<f64> {
        match self.unit.as_str() {
            "W" | "w" | "Watt" | "Watts" | "watt" | "watts" => Some(1.0),
            "kW" | "kw" | "KW" => Some(1e3),
            "mW" => Some(1e-3),
            _ => None,
        }
    }

    fn is_average(&self) -> bool {
        let statistic = self.statistic.as_deref();
        statistic.is_some_and(|name| AVERAGES.iter().any(|average| name.starts_with(average)))
    }

    /// Whether the column can be integrated: not a maximum, a minimum or a deviation.
    fn is_level(&self) -> bool {
        self.statistic.is_none() || self.is_average()
    }

    /// Whether the column has events, not measurements, which have a unit.
    pub fn is_event(&self) -> bool {
        self.unit.is_empty()
    }

    /// Returns the heading without its properties.
    pub fn label(&self) -> &str {
        self.text.split(" (LGR").next().unwrap_or(&self.text)
    }

    /// Returns the serial numbers in the properties.
    pub fn serials(&self) -> impl Iterator<Item = &str> {
        self.text
            .split("S/N:")
            .skip(1)
            .map(|rest| rest.split([',', ')', ';']).next().unwrap_or("").trim())
            .filter(|serial| !serial.is_empty())
    }
}

/// Finds the columns by their content.
pub fn columns(headings: &[Heading]) -> Result<Columns, ImportError> {
    let time = headings
        .iter()
        .position(|heading| heading.offset.is_some())
        .ok_or(ImportError::NoHeader)?;
    let offset = match headings[time].offset {
        Some(Ok(offset)) => offset,
        _ => {
            return Err(ImportError::Offset {
                heading: headings[time].text.clone(),
            });
        }
    };
    let date = headings
        .iter()
        .position(|heading| DATES.contains(&heading.name.as_str()))
        .filter(|&date| date != time);
    let power = power(headings)?;
    let heading = &headings[power];
    let scale = heading.watts().ok_or_else(|| ImportError::Unit {
        heading: heading.text.clone(),
        unit: heading.unit.clone(),
    })?;
    Ok(Columns {
        offset,
        date,
        time,
        power,
        scale,
        averaged: heading.is_average(),
    })
}

/// Finds the column of the power: by its name, else by its unit; an average before a momentary value.
fn power(headings: &[Heading]) -> Result<usize, ImportError> {
    let levels = || {
        let all = headings.iter().enumerate();
        all.filter(|(_, heading)| heading.is_level())
    };
    let mut found: Vec<usize> = levels()
        .filter(|(_, heading)| POWERS.contains(&heading.name.as_str()))
        .map(|(at, _)| at)
        .collect();
    if found.is_empty() {
        let powers = levels().filter(|(_, heading)| heading.watts().is_some());
        found = powers.map(|(at, _)| at).collect();
    }
    if found.iter().any(|&at| headings[at].is_average()) {
        found.retain(|&at| headings[at].is_average());
    }
    let names = |at: &mut dyn Iterator<Item = &Heading>| {
        at.map(|heading| format!("'{}'", heading.text))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match found[..] {
        [one] => Ok(one),
        [] => Err(ImportError::NoPower {
            columns: names(&mut headings.iter()),
        }),
        _ => Err(ImportError::SeveralPowers {
            columns: names(&mut found.iter().map(|&at| &headings[at])),
        }),
    }
}

/// Parses `GMT-05:00`, `GMT -07:00`, `UTC+0530`, `GMT` as seconds east of UTC. `None` where neither GMT nor UTC occurs.
fn offset(text: &str) -> Option<Result<i32, ()>> {
    let upper = text.to_ascii_uppercase();
    let at = upper.find("GMT").or_else(|| upper.find("UTC"))?;
    let rest = upper[at + 3..].trim();
    let (sign, digits) = match rest.chars().next() {
        None => return Some(Ok(0)),
        Some('+') => (1, &rest[1..]),
        Some('-') => (-1, &rest[1..]),
        Some(minus @ '\u{2212}') => (-1, &rest[minus.len_utf8()..]),
        Some(_) => return Some(Err(())),
    };
    let digits = digits.trim().trim_end_matches(')');
    let (hours, minutes) = match digits.split_once(':') {
        Some(both) => both,
        None if digits.is_ascii() && digits.len() == 4 => digits.split_at(2),
        None => (digits, "0"),
    };
    let number = |text: &str| {
        let plain = text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse::<i32>().ok()).flatten()
    };
    Some(match (number(hours), number(minutes)) {
        (Some(hours @ 0..=14), Some(minutes @ 0..60)) => Ok(sign * (hours * 3600 + minutes * 60)),
        _ => Err(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_as_hoboware_writes_them() {
        let cases = [
            (" GMT-05:00", Some(Ok(-18_000))),
            ("GMT -07:00", Some(Ok(-25_200))),
            ("GMT+05:30", Some(Ok(19_800))),
            ("utc+0530", Some(Ok(19_800))),
            ("GMT\u{2212}03:30", Some(Ok(-12_600))),
            ("GMT", Some(Ok(0))),
            ("GMT+99:00", Some(Err(()))),
            ("GMT+05:75", Some(Err(()))),
            ("GMT+é0", Some(Err(()))),
            ("°C", None),
        ];
        for (text, expected) in cases {
            assert_eq!(offset(text), expected, "{text}");
        }
    }

    #[test]
    fn a_heading_is_a_name_a_unit_and_properties() {
        let heading = Heading::new(&"Active Power, kW (LGR S/N: 12, SEN S/N: 34, LBL: a, b)");
        assert_eq!(
            (heading.name.as_str(), heading.watts()),
            ("active power", Some(1e3))
        );
        assert_eq!(heading.serials().collect::<Vec<_>>(), ["12", "34"]);
        for text in [
            "Power, (W)",
            "Power (W)",
            "Power - W",
            "Moy. : Puissance, W",
        ] {
            assert_eq!(Heading::new(&text).watts(), Some(1.0), "{text}");
        }
        assert!(Heading::new(&"Moy. : Puissance, W").is_average());
        assert!(!Heading::new(&"Max: Power, W").is_level());
    }
}
