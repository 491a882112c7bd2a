//! Files as HOBOware writes them, in the forms that it and its users' spreadsheets write.

mod generated;

use super::*;

fn import(text: &str) -> Result<PowerLog, ImportError> {
    PowerLog::import(text.as_bytes(), &LogOptions::default())
}

#[track_caller]
fn watts(text: &str) -> Vec<f64> {
    let log = import(text).unwrap();
    log.samples.iter().map(|(_, watts)| watts.0).collect()
}

const ENGLISH: &str = "\"Plot Title: idle\"\r\n\
    \"#\",\"Date Time, GMT-05:00\",\"RMS Voltage, V (LGR S/N: 10, SEN S/N: 20)\",\
    \"Active Power, W (LGR S/N: 10, SEN S/N: 20, LBL: server, left)\",\
    \"Host Connected (LGR S/N: 10)\",\"End Of File (LGR S/N: 10)\"\r\n\
    1,07/14/22 02:00:00 PM,121.3,88.4,,\r\n\
    2,07/14/22 02:00:01 PM,121.3,88.5,,\r\n\
    3,07/14/22 02:00:01 PM,,,Logged,\r\n\
    4,07/14/22 02:00:02 PM,121.2,90,,\r\n\
    5,07/14/22 02:00:06 PM,121.2,91.25,,\r\n\
    6,07/14/22 02:00:06 PM,,,,Logged\r\n";

#[test]
fn an_export_is_read_whole() {
    let log = import(ENGLISH).unwrap();
    let start = Nanos::from_seconds(1_657_825_200.0);
    let second = |n: u64| start + Nanos::from_millis(n * 1000);
    assert_eq!(
        (log.start, log.end(), log.offset),
        (start, second(6), -18_000)
    );
    assert_eq!(
        (log.interval, log.averaged, log.truncated),
        (second(1).since(start), false, false)
    );
    let samples = [(0, 88.4), (1, 88.5), (2, 90.0), (6, 91.25)];
    assert_eq!(
        log.samples,
        samples.map(|(at, watts)| (second(at), Watts(watts)))
    );
    let gap = Gap {
        from: second(2),
        to: second(6),
        missing: 3,
    };
    assert_eq!(log.gaps, [gap]);
    let event = |at, name: &str| LoggerEvent {
        at: second(at),
        name: name.into(),
        text: "Logged".into(),
    };
    assert_eq!(
        log.events,
        [event(1, "Host Connected"), event(6, "End Of File")]
    );
    assert_eq!(log.serials, ["10", "20"]);
}

#[test]
fn an_export_in_french_with_semicolons_is_read() {
    let text = "\"Titre de tracé : T520\"\n\
        \"#\";\"Date Heure, GMT+02:00\";\"Puissance active, W (LGR S/N: 1)\";\"Hôte connecté (LGR S/N: 1)\"\n\
        1;14/07/2022 23:59:59;1 088,40;\n\
        2;15/07/2022 00:00:00;88,5;Consigné\n";
    assert_eq!(watts(text), [1088.4, 88.5]);
    let log = import(text).unwrap();
    assert_eq!(log.events[0].name, "Hôte connecté");
    let latin1: Vec<u8> = text.chars().map(|c| u8::try_from(c).unwrap()).collect();
    assert_eq!(PowerLog::import(&latin1, &LogOptions::default()), Ok(log));
}

#[test]
fn a_date_with_a_column_of_its_own_is_read() {
    let text = "\"Date\";\"Heure, GMT+02:00\";\"Moy. : Puissance, kW\"\n\
        30/09/2012;00:00:00;0,088\n30/09/2012;00:00:01;0,0885\n";
    assert_eq!(watts(text), [88.0, 88.5]);
    assert!(import(text).unwrap().averaged);
}

#[test]
fn headings_without_quotes_keep_their_commas() {
    let text = "#,Date Time, GMT+00:00,Active Power, W (LGR S/N: 1, SEN S/N: 1),Stopped (LGR S/N: 1)\n\
        1,07/14/22 14:00:00,88.4,\n2,07/14/22 14:00:01,88.5,\n";
    assert_eq!(watts(text), [88.4, 88.5]);
    let text = "Date Time, GMT+00:00,RMS Voltage, V (LGR S/N: 1, LBL: a,b),Active Power, W,Stopped\n\
        07/14/22 14:00:00,230,88.4,\n";
    assert_eq!(watts(text), [88.4]);
    let text = "#\tAnz\tDate Time - GMT -07:00\tPower, (W)\n1\t7\t07/14/22 14:00:00\t88.4\n";
    assert_eq!(watts(text), [88.4]);
}

/// A file with one sample, whose header has this power column.
fn with_power(heading: &str) -> String {
    format!("\"Date Time, GMT+00:00\",\"{heading}\",\"Note\"\n07/14/22 14:00:00,88.4,\n")
}

#[test]
fn a_column_is_known_by_its_name_or_else_by_its_unit() {
    assert_eq!(watts(&with_power("Wirkleistung, W")), [88.4]);
    assert_eq!(watts(&with_power("Plug 1, mW")), [0.0884]);
    let energy = import(&with_power("Active Energy, Wh")).unwrap_err();
    assert!(matches!(energy, ImportError::NoPower { .. }), "{energy}");
    let hp = import(&with_power("Active Power, hp (LGR S/N: 1)"))
        .unwrap_err()
        .to_string();
    assert!(hp.contains("'Active Power, hp (LGR S/N: 1)'"), "{hp}");
    assert!(hp.contains("'hp'") && hp.contains("W, kW and mW"), "{hp}");
}

#[test]
fn of_several_powers_only_an_average_stands_out() {
    let power = with_power("Active Power, W\",\"Power, W");
    assert!(matches!(
        import(&power),
        Err(ImportError::SeveralPowers { .. })
    ));
    let text = "\"Date Time, GMT+00:00\",\"Active Power, W\",\"Max: Active Power, W\",\
        \"Avg: Active Power, W\",\"Note\"\n07/14/22 14:00:00,1,2,3,\n";
    assert_eq!(watts(text), [3.0]);
}

#[test]
fn what_the_file_leaves_open_is_requested() {
    let text = ENGLISH.replace("07/14/22", "07/08/22");
    let said = import(&text).unwrap_err().to_string();
    assert!(
        said.contains("mdy or dmy or ymd") && said.contains("--date-order"),
        "{said}"
    );
    let options = LogOptions {
        date_order: Some(DateOrder::DayMonthYear),
        ..LogOptions::default()
    };
    let log = PowerLog::import(text.as_bytes(), &options).unwrap();
    assert_eq!(log.start, Nanos::from_seconds(1_659_898_800.0));

    let text = with_power("Power, W").replace("88.4", "\"1,234\"");
    let said = import(&text).unwrap_err().to_string();
    assert!(
        said.contains("line 2") && said.contains("--decimal"),
        "{said}"
    );
    let options = LogOptions {
        decimal: Some(Decimal::Comma),
        ..LogOptions::default()
    };
    let log = PowerLog::import(text.as_bytes(), &options).unwrap();
    assert_eq!(log.samples[0].1, Watts(1.234));
}

#[test]
fn what_is_wrong_is_reported_with_its_line() {
    let error = |from: &str, to: &str| import(&ENGLISH.replace(from, to)).unwrap_err();
    assert!(matches!(
        error("88.5", "x"),
        ImportError::Number { line: 4, .. }
    ));
    assert!(matches!(
        error("02:00:01 PM,121", "02:00:00 PM,121"),
        ImportError::Backwards { line: 4, .. }
    ));
    assert!(matches!(
        error("2,07/14/22", "2,07/32/22"),
        ImportError::Date { line: 4, .. }
    ));
    assert_eq!(error("88.5,,", "88.5,,,7"), ImportError::Cells { line: 4 });
    assert!(matches!(
        error("GMT-05:00", "GMT-45:00"),
        ImportError::Offset { .. }
    ));
    assert_eq!(error("GMT-05:00", "EST"), ImportError::NoHeader);
    assert_eq!(import(""), Err(ImportError::NoHeader));
    assert_eq!(import("\u{feff}"), Err(ImportError::NoHeader));
    assert_eq!(
        PowerLog::import(b"\xff\xfe\"\0", &LogOptions::default()),
        Err(ImportError::Utf16)
    );
    let header: String = ENGLISH.split_inclusive('\n').take(2).collect();
    assert_eq!(import(&header), Err(ImportError::NoSamples));
}

#[test]
fn a_sensor_that_did_not_answer_leaves_a_gap() {
    let log = import(&ENGLISH.replace("90,", "-888.88,")).unwrap();
    assert_eq!(log.samples.len(), 3);
    assert_eq!(log.gaps[0].missing, 4);
    let log = import(&ENGLISH.replace("07/14/22 02:00:06 PM,121", "07/14/22 02:00:04 PM,121"));
    assert_eq!(log.unwrap().gaps[0].missing, 1);
}

#[test]
fn a_cut_number_is_not_a_small_number() {
    let cut = ENGLISH.find("91.25").unwrap();
    for keep in ["", "9", "91", "91.", "91.2", "91.25"] {
        let log = import(&format!("{}{keep}", &ENGLISH[..cut])).unwrap();
        assert!(log.truncated && log.samples.len() == 3, "{keep}");
    }
    let log = import(&ENGLISH[..cut + 6]).unwrap();
    assert!(log.truncated && log.samples.len() == 4);
    // Where the power is the last cell, only the line's end shows that it is whole.
    let last = "\"Date Time, GMT+00:00\",\"Power, W\"\n07/14/22 14:00:00,88.4\n07/14/22 14:00:01,9";
    assert_eq!(watts(last), [88.4]);
    assert!(import(last).unwrap().truncated);
    assert_eq!(watts(&format!("{last}\n")), [88.4, 9.0]);
}
