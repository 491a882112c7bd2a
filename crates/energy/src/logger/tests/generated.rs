//! A log that is written in every form and read back.

use super::*;
use jiff::Timestamp;
use jiff::tz::Offset;
use proptest::collection::vec;
use proptest::prelude::*;

/// The style of a generated file.
#[derive(Clone, Debug)]
struct Style {
    title: Option<&'static str>,
    /// Headings of the count, the time, the voltage, the power, the energy and an event.
    headings: [&'static str; 6],
    /// The separators of cells, and of a number's fraction.
    separators: (char, char),
    order: DateOrder,
    date_separator: char,
    long_year: bool,
    /// Names of the halves of the day; none on a 24 hour clock.
    halves: Option<[&'static str; 2]>,
    offset_minutes: i32,
    quoted: bool,
    mark: bool,
    line_end: &'static str,
    latin1: bool,
    separate_date: bool,
}

/// A row: seconds since the one before, centiwatts, and whether an event row follows.
type Row = (i64, u32, bool);

const ENGLISH: [&str; 6] = [
    "#",
    "Date Time",
    "RMS Voltage, V",
    "Active Power, W",
    "Active Energy, Wh",
    "Host Connected",
];
const FRENCH: [&str; 6] = [
    "#",
    "Date Heure",
    "Tension, V",
    "Puissance active, W",
    "Énergie, Wh",
    "Hôte connecté",
];
const GERMAN: [&str; 6] = [
    "Anz.",
    "Datum Zeit",
    "Spannung, V",
    "Wirkleistung, W",
    "Energie, Wh",
    "Host verbunden",
];

prop_compose! {
    fn style()(
        title in prop::sample::select(vec![None, Some("Plot Title: a, b"), Some("Titre de tracé : é")]),
        headings in prop::sample::select(vec![ENGLISH, FRENCH, GERMAN]),
        separators in prop::sample::select(vec![(',', '.'), (',', ','), (';', ','), (';', '.'), ('\t', ',')]),
        order in prop::sample::select(DateOrder::ALL.to_vec()),
        date_separator in prop::sample::select(vec!['/', '-', '.']),
        halves in prop::sample::select(vec![None, Some([" AM", " PM"]), Some(["\u{a0}a. m.", "\u{a0}p. m."])]),
        offset_minutes in -14 * 60 + 1..14 * 60,
        line_end in prop::sample::select(vec!["\n", "\r\n"]),
        flags in any::<[bool; 5]>(),
    ) -> Style {
        let [long_year, quoted, mark, latin1, separate_date] = flags;
        Style {
            title, headings, separators, order, date_separator, long_year, halves, offset_minutes,
            quoted, line_end, latin1, separate_date,
            // A byte order mark is of UTF-8.
            mark: mark && !latin1,
        }
    }
}

/// Mostly one interval apart, with gaps.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    let step = prop_oneof![9 => Just(1_i64), 1 => 2..40_000_i64];
    vec((step, 0..200_000_u32, prop::bool::weighted(0.1)), 1..40)
}

impl Style {
    fn write(&self, start: i64, rows: &[Row]) -> Vec<u8> {
        let mut text = String::new();
        if let Some(title) = self.title {
            text += &format!("\"{title}\"{}", self.line_end);
        }
        let names = self.names();
        text += &names
            .map(|name| self.quote(&name))
            .join(&self.separators.0.to_string());
        text += self.line_end;
        let (mut at, mut count) = (start, 0);
        for &(step, centiwatts, event) in rows {
            at += step;
            count += 1;
            let value = format!(
                "{}{}{:02}",
                centiwatts / 100,
                self.separators.1,
                centiwatts % 100
            );
            self.row(&mut text, count, at, [&value, &value, &value, ""]);
            if event {
                count += 1;
                self.row(&mut text, count, at, ["", "", "", "Logged"]);
            }
        }
        self.row(&mut text, count + 1, at, ["", "", "", "Logged"]);
        let mut file = if self.mark {
            b"\xef\xbb\xbf".to_vec()
        } else {
            vec![]
        };
        if self.latin1 {
            file.extend(text.chars().map(|c| u8::try_from(c).unwrap()));
        } else {
            file.extend(text.as_bytes());
        }
        file
    }

    /// The headings as the file has them: a separate date takes the place of the count.
    fn names(&self) -> [String; 6] {
        let properties = " (LGR S/N: 10123456, SEN S/N: 10123456, LBL: x)";
        let mut names = self.headings.map(|name| format!("{name}{properties}"));
        let hours = self.offset_minutes.abs() / 60;
        let minutes = self.offset_minutes.abs() % 60;
        let sign = if self.offset_minutes < 0 { '-' } else { '+' };
        names[1] = format!("{}, GMT{sign}{hours:02}:{minutes:02}", self.headings[1]);
        names[0] = self.headings[0].into();
        if self.separate_date {
            names[0] = "Date".into();
        }
        names
    }

    fn quote(&self, text: &str) -> String {
        if self.quoted {
            format!("\"{text}\"")
        } else {
            text.into()
        }
    }

    fn row(&self, text: &mut String, count: usize, at: i64, cells: [&str; 4]) {
        let (date, time) = self.stamp(at);
        let (first, second) = match self.separate_date {
            true => (date, time),
            false => (count.to_string(), format!("{date} {time}")),
        };
        let cells = cells
            .iter()
            .map(|cell| match cell.contains(self.separators.0) {
                true => format!("\"{cell}\""),
                false => cell.to_string(),
            });
        let all: Vec<_> = [first, second].into_iter().chain(cells).collect();
        *text += &all.join(&self.separators.0.to_string());
        *text += self.line_end;
    }

    fn stamp(&self, at: i64) -> (String, String) {
        let offset = Offset::from_seconds(self.offset_minutes * 60).unwrap();
        let at = offset.to_datetime(Timestamp::from_second(at).unwrap());
        let year = match self.long_year {
            true => format!("{:04}", at.year()),
            false => format!("{:02}", at.year() - 2000),
        };
        let (month, day) = (format!("{:02}", at.month()), format!("{:02}", at.day()));
        let date = match self.order {
            DateOrder::MonthDayYear => [month, day, year],
            DateOrder::DayMonthYear => [day, month, year],
            DateOrder::YearMonthDay => [year, month, day],
        };
        let hour = at.hour();
        let (hour, half) = match self.halves {
            None => (hour, ""),
            Some(halves) => ((hour + 11) % 12 + 1, halves[usize::from(hour >= 12)]),
        };
        let time = format!("{hour:02}:{:02}:{:02}{half}", at.minute(), at.second());
        (date.join(&self.date_separator.to_string()), time)
    }

    fn options(&self) -> LogOptions {
        LogOptions {
            date_order: Some(self.order),
            decimal: None,
        }
    }
}

fn planted(start: i64, rows: &[Row]) -> Vec<(Nanos, Watts)> {
    let mut at = start;
    let samples = rows.iter().map(|&(step, centiwatts, _)| {
        at += step;
        let text = format!("{}.{:02}", centiwatts / 100, centiwatts % 100);
        (
            Nanos(at as u64 * 1_000_000_000),
            Watts(text.parse().unwrap()),
        )
    });
    samples.collect()
}

/// Years 2010 to 2040.
const STARTS: std::ops::Range<i64> = 1_262_304_000..2_208_988_800;

proptest! {
    #[test]
    fn a_log_in_any_style_is_read_as_it_was_written(
        style in style(), start in STARTS, rows in rows(),
    ) {
        let file = style.write(start, &rows);
        let expected = planted(start, &rows);
        let log = PowerLog::import(&file, &style.options()).unwrap();
        prop_assert_eq!(&log.samples, &expected);
        prop_assert_eq!(log.offset, style.offset_minutes * 60);
        prop_assert_eq!(log.events.len(), 1 + rows.iter().filter(|row| row.2).count());
        prop_assert_eq!(&log.serials, &["10123456"]);
        prop_assert!(!log.truncated);
        // What is not said is found, or requested; never guessed.
        match PowerLog::import(&file, &LogOptions::default()) {
            Ok(log) => prop_assert_eq!(&log.samples, &expected),
            Err(error) => prop_assert!(matches!(error, ImportError::DateOrder { .. }), "{}", error),
        }
    }

    #[test]
    fn a_log_cut_anywhere_is_a_prefix(
        style in style(), start in STARTS, rows in rows(), cut in any::<prop::sample::Index>(),
    ) {
        let file = style.write(start, &rows);
        let cut = cut.index(file.len());
        let whole = planted(start, &rows);
        match PowerLog::import(&file[..cut], &style.options()) {
            Ok(log) => {
                prop_assert!(whole.starts_with(&log.samples));
                let lines = file[..cut].split(|&byte| byte == b'\n').count();
                // A row and, after it or not, an event row; a title and a header before.
                prop_assert!(log.samples.len() * 2 + 4 >= lines);
            }
            Err(error) => {
                let short = matches!(error, ImportError::NoSamples | ImportError::NoHeader
                    | ImportError::NoPower { .. } | ImportError::Unit { .. } | ImportError::Offset { .. });
                prop_assert!(short, "{}", error);
                let header = file.split(|&byte| byte == b'\n').take(3 + usize::from(style.title.is_some()));
                prop_assert!(cut <= header.map(|line| line.len() + 1).sum());
            }
        }
    }

    #[test]
    fn a_damaged_log_ends_in_samples_or_an_error(
        style in style(), rows in rows(), damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut file = style.write(STARTS.start, &rows);
        for (at, byte) in damage {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let _ = PowerLog::import(&file, &LogOptions::default());
    }

    #[test]
    fn any_bytes_end_in_samples_or_an_error(bytes in vec(any::<u8>(), 0..400)) {
        let _ = PowerLog::import(&bytes, &LogOptions::default());
        let header = b"\"Date Time, GMT+00:00\",\"Power, W\",\"Note\"\n";
        let file = [&header[..], &bytes].concat();
        if let Ok(log) = PowerLog::import(&file, &LogOptions::default()) {
            prop_assert!(log.samples.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }
}
