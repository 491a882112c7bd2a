//! Dates and times of a file whose order of day and month is not specified anywhere.

use jiff::civil::{Date, Time};
use jiff::tz::Offset;
use joulio_units::Nanos;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;

/// Order of the numbers of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    /// 07/14/22, HOBOware's own order.
    MonthDayYear,
    /// 14/07/22.
    DayMonthYear,
    /// 22/07/14.
    YearMonthDay,
}

impl DateOrder {
    /// All orders.
    pub const ALL: [DateOrder; 3] = [
        DateOrder::MonthDayYear,
        DateOrder::DayMonthYear,
        DateOrder::YearMonthDay,
    ];
}

impl fmt::Display for DateOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DateOrder::MonthDayYear => "mdy",
            DateOrder::DayMonthYear => "dmy",
            DateOrder::YearMonthDay => "ymd",
        })
    }
}

/// A date and a time, as written in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stamp {
    /// Numbers of the date, and whether each has four digits and so must be the year.
    date: [(i16, bool); 3],
    time: Time,
}

impl Stamp {
    /// Parses `07/14/22 02:00:00 PM` and variants: `/`, `-` or `.` in the date, 12 or 24 hours, seconds with a fraction
    /// or without seconds.
    pub fn parse(text: &str) -> Option<Stamp> {
        let text = text.trim();
        let end = text.find(|c: char| c.is_whitespace() || c == 'T')?;
        let (date, time) = text.split_at(end);
        let mut numbers = date.split(['/', '-', '.']);
        let mut next = || {
            let digits = numbers.next()?;
            let plain = matches!(digits.len(), 1 | 2 | 4);
            Some((plain.then(|| whole(digits)).flatten()?, digits.len() == 4))
        };
        let date = [next()?, next()?, next()?];
        let time = time.trim_start_matches('T').trim();
        (numbers.next().is_none()).then_some(Stamp {
            date,
            time: clock(time)?,
        })
    }

    /// Returns the time since the epoch, if the date is valid in this order.
    fn at(&self, order: DateOrder, offset: Offset) -> Option<Nanos> {
        let [a, b, c] = self.date;
        let (year, month, day) = match order {
            DateOrder::MonthDayYear => (c, a, b),
            DateOrder::DayMonthYear => (c, b, a),
            DateOrder::YearMonthDay => (a, b, c),
        };
        if month.1 || day.1 {
            return None;
        }
        // No logger's file is older than 2000, and 64 bits of nanoseconds end in 2554.
        let year = if year.1 { year.0 } else { 2000 + year.0 };
        if !(2000..2500).contains(&year) {
            return None;
        }
        let date = Date::new(year, month.0 as i8, day.0 as i8).ok()?;
        let at = offset.to_timestamp(date.to_datetime(self.time)).ok()?;
        u64::try_from(at.as_nanosecond()).ok().map(Nanos)
    }
}

/// Parses an unsigned number of up to four digits.
fn whole(digits: &str) -> Option<i16> {
    let plain = digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// Parses `14:00:00`, `2:00:00.5 PM`, `02:00 p. m.`
fn clock(text: &str) -> Option<Time> {
    let end = text.find(char::is_alphabetic).unwrap_or(text.len());
    let (digits, half) = text.split_at(end);
    let half: String = half.chars().filter(|c| c.is_alphabetic()).collect();
    let (time, fraction) = match digits.trim().split_once(['.', ',']) {
        Some((time, fraction)) => (time, fraction),
        None => (digits.trim(), ""),
    };
    let mut numbers = time.split(':');
    let hour = whole(numbers.next()?)?;
    let minute = whole(numbers.next()?)?;
    let second = numbers.next().map_or(Some(0), whole)?;
    if numbers.next().is_some() {
        return None;
    }
    let hour = match (half.to_lowercase().as_str(), hour) {
        ("", _) => hour,
        ("am", 1..=12) => hour % 12,
        ("pm", 1..=12) => hour % 12 + 12,
        _ => return None,
    };
    let number = |number: i16| i8::try_from(number).ok();
    let time = Time::new(
        number(hour)?,
        number(minute)?,
        number(second)?,
        nanos(fraction)?,
    );
    time.ok()
}

/// Parses a fraction of a second.
fn nanos(digits: &str) -> Option<i32> {
    let plain = digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain
        .then(|| format!("{digits:0<9}").parse().ok())
        .flatten()
}

/// Reason why the rows' times are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeTrouble {
    /// The row with this index has no date in any order that is possible for the rows before it.
    NoDate(usize),
    /// The sample with this index is not later than the sample before it.
    Backwards(usize),
    /// The dates fit these orders equally well.
    Ambiguous(Vec<DateOrder>),
}

/// Time of a row, and whether it is a sample, not only an event.
pub type RowTime = (Stamp, bool);

/// Computes every row's time since the epoch: in the order given, or in the only one in which samples never go back and
/// are most often one interval apart.
pub fn resolve(
    rows: &[RowTime],
    offset: i32,
    said: Option<DateOrder>,
) -> Result<(DateOrder, Vec<Nanos>), TimeTrouble> {
    // `heading` has checked the range.
    let offset = Offset::from_seconds(offset).unwrap_or(Offset::UTC);
    let orders = said.map_or(DateOrder::ALL.to_vec(), |order| vec![order]);
    let (mut fitting, mut refusals) = (vec![], vec![]);
    for order in orders {
        match times(rows, offset, order) {
            Ok(times) => fitting.push((unusual_steps(rows, &times), order, times)),
            Err(trouble) => refusals.push(trouble),
        }
    }
    let fewest = fitting.iter().map(|(steps, ..)| *steps).min();
    fitting.retain(|(steps, ..)| Some(*steps) == fewest);
    match (fitting.len(), fitting.pop()) {
        (1, Some((_, order, times))) => Ok((order, times)),
        (_, Some((_, last, _))) => {
            let mut orders: Vec<_> = fitting.iter().map(|(_, order, _)| *order).collect();
            orders.push(last);
            Err(TimeTrouble::Ambiguous(orders))
        }
        // Of several orders, the one that failed last is the most likely.
        (_, None) => Err(refusals
            .into_iter()
            .max_by_key(|trouble| match trouble {
                TimeTrouble::NoDate(row) | TimeTrouble::Backwards(row) => *row,
                TimeTrouble::Ambiguous(_) => 0,
            })
            .unwrap_or(TimeTrouble::NoDate(0))),
    }
}

/// Returns the rows' times in this order.
fn times(rows: &[RowTime], offset: Offset, order: DateOrder) -> Result<Vec<Nanos>, TimeTrouble> {
    let mut times = Vec::with_capacity(rows.len());
    let mut last = None;
    for (row, (stamp, is_sample)) in rows.iter().enumerate() {
        let at = stamp.at(order, offset).ok_or(TimeTrouble::NoDate(row))?;
        if *is_sample {
            if last.is_some_and(|last| at <= last) {
                return Err(TimeTrouble::Backwards(row));
            }
            last = Some(at);
        }
        times.push(at);
    }
    Ok(times)
}

/// Counts the samples that are not one usual step after the one before.
fn unusual_steps(rows: &[RowTime], times: &[Nanos]) -> usize {
    let samples = rows
        .iter()
        .zip(times)
        .filter(|((_, is_sample), _)| *is_sample);
    let samples: Vec<_> = samples.map(|(_, &at)| at).collect();
    let usual = usual_step(&samples);
    let steps = samples.windows(2).map(|pair| pair[1].since(pair[0]));
    steps.filter(|&step| step != usual).count()
}

/// Returns the most common step, the shortest of several; zero when there is none.
pub fn usual_step(times: &[Nanos]) -> Nanos {
    let mut counts = HashMap::new();
    for pair in times.windows(2) {
        *counts.entry(pair[1].since(pair[0])).or_insert(0_u64) += 1;
    }
    let commonest = counts
        .into_iter()
        .max_by_key(|&(step, count)| (count, Reverse(step)));
    commonest.map_or(Nanos::ZERO, |(step, _)| step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(texts: &[&str]) -> Vec<RowTime> {
        texts
            .iter()
            .map(|text| (Stamp::parse(text).unwrap(), true))
            .collect()
    }

    fn order(texts: &[&str]) -> Result<DateOrder, TimeTrouble> {
        resolve(&rows(texts), 0, None).map(|(order, _)| order)
    }

    #[test]
    fn clocks_of_12_and_24_hours_are_read() {
        let same = [
            "07/14/22 02:00:00 PM",
            "07-14-2022 14:00:00",
            "07.14.22 2:00:00.000 p.\u{a0}m.",
            "07/14/22 02:00:00\u{202f}PM",
            "07/14/2022 14:00",
            "07/14/2022T14:00:00",
        ];
        for text in same {
            let (_, times) = resolve(&rows(&[text]), 0, None).unwrap();
            assert_eq!(times, [Nanos::from_seconds(1_657_807_200.0)], "{text}");
        }
        let noon = resolve(&rows(&["07/14/22 12:00:00 PM"]), 0, None).unwrap();
        let midnight = resolve(&rows(&["07/14/22 12:00:00 AM"]), 0, None).unwrap();
        assert_eq!(
            noon.1[0].since(midnight.1[0]),
            Nanos::from_seconds(43_200.0)
        );
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "07/14/22",
            "07/14 02:00:00",
            "a/b/c 1:2:3",
            "07/14/022 1:00:00",
            "7/14/22 13:00:00 PM",
            "7/14/22 0:00:00 AM",
            "7/14/22 24:00:00",
            "7/14/22 1:00:00 XM",
            "7/14/22 1:2:3:4",
            "7/14/22/1 1:2:3",
        ] {
            assert_eq!(Stamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_order_follows_from_a_day_above_twelve_a_long_year_or_a_midnight() {
        assert_eq!(order(&["07/14/22 1:00:00"]), Ok(DateOrder::MonthDayYear));
        assert_eq!(order(&["14/07/2022 1:00:00"]), Ok(DateOrder::DayMonthYear));
        assert_eq!(order(&["2022-07-08 1:00:00"]), Ok(DateOrder::YearMonthDay));
        let midnight = ["07/08/22 23:59:58", "07/08/22 23:59:59", "07/09/22 0:00:00"];
        assert_eq!(order(&midnight), Ok(DateOrder::MonthDayYear));
        let midnight = ["07/08/22 23:59:58", "07/08/22 23:59:59", "08/08/22 0:00:00"];
        assert_eq!(order(&midnight), Ok(DateOrder::DayMonthYear));
    }

    #[test]
    fn a_date_that_fits_several_orders_is_not_guessed() {
        let one_day = ["07/08/22 1:00:00", "07/08/22 1:00:01"];
        assert_eq!(
            order(&one_day),
            Err(TimeTrouble::Ambiguous(DateOrder::ALL.to_vec()))
        );
        let said = resolve(&rows(&one_day), 0, Some(DateOrder::DayMonthYear)).unwrap();
        assert_eq!(said.1[0], Nanos::from_seconds(1_659_834_000.0));
    }

    #[test]
    fn samples_never_go_back() {
        let back = ["07/14/22 1:00:01", "07/14/22 1:00:01"];
        assert_eq!(order(&back), Err(TimeTrouble::Backwards(1)));
        assert_eq!(
            order(&["07/14/22 1:00:00", "02/30/22 1:00:00"]),
            Err(TimeTrouble::NoDate(1))
        );
    }
}
