//! Comparison with SciPy's results for the same data: `tests/expected.py` wrote `tests/expected.json`.

use super::*;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Expected {
    summaries: BTreeMap<String, ExpectedSummary>,
    student: Vec<ExpectedTest>,
    welch: Vec<ExpectedTest>,
    t_quantiles: Vec<(f64, f64)>,
    p: Vec<f64>,
    holm: Vec<f64>,
    benjamini_hochberg: Vec<f64>,
    fits: Vec<ExpectedFit>,
    bootstraps: Vec<ExpectedBootstrap>,
}

#[derive(Deserialize)]
struct ExpectedSummary {
    values: Vec<f64>,
    mean: f64,
    low: f64,
    high: f64,
    median: f64,
    deviation: f64,
    quantiles: Vec<(f64, f64)>,
}

#[derive(Deserialize)]
struct ExpectedTest {
    a: String,
    b: String,
    t: f64,
    freedom: f64,
    p: f64,
    low: f64,
    high: f64,
    effect: f64,
    ratio: [Option<f64>; 3],
}

#[derive(Deserialize)]
struct ExpectedFit {
    points: Vec<(f64, f64)>,
    constant: f64,
    linear: f64,
    square: f64,
    r2: f64,
}

#[derive(Deserialize)]
struct ExpectedBootstrap {
    sample: String,
    q: f64,
    low: f64,
    high: f64,
}

fn expected() -> Expected {
    serde_json::from_str(include_str!("tests/expected.json")).expect("the file of the script")
}

#[track_caller]
fn near(found: f64, expected: f64, what: &str) {
    let off = (found - expected).abs();
    let allowed = 1e-9 * expected.abs().max(1e-9);
    assert!(off <= allowed, "{what}: {found}, and SciPy has {expected}");
}

#[test]
fn summaries_are_scipys() {
    for (name, expected) in expected().summaries {
        let found = Summary::of(&expected.values).unwrap();
        near(found.mean.value, expected.mean, &name);
        near(found.mean.low, expected.low, &name);
        near(found.mean.high, expected.high, &name);
        near(found.median, expected.median, &name);
        near(found.deviation, expected.deviation, &name);
        for (q, value) in expected.quantiles {
            let found = quantile(&expected.values, q).unwrap();
            near(found, value, &format!("{name} {q}"));
        }
    }
}

#[test]
fn quantiles_of_t_are_scipys() {
    for (freedom, value) in expected().t_quantiles {
        let found = student::quantile(freedom, 0.95);
        near(found, value, &format!("{freedom} degrees"));
    }
}

#[test]
fn t_tests_are_scipys() {
    let expected = expected();
    let sample = |name: &str| &expected.summaries[name].values;
    for (test, cases) in [
        (TTest::Student, &expected.student),
        (TTest::Welch, &expected.welch),
    ] {
        for case in cases {
            let what = format!("{test:?} {} {}", case.a, case.b);
            let found = test.compare(sample(&case.a), sample(&case.b)).unwrap();
            near(found.t, case.t, &what);
            near(found.freedom, case.freedom, &what);
            near(found.p, case.p, &what);
            near(found.difference.low, case.low, &what);
            near(found.difference.high, case.high, &what);
            near(found.effect, case.effect, &what);
            let found = test.ratio(sample(&case.a), sample(&case.b), 0.05).unwrap();
            let [value, low, high] = case.ratio;
            near(found.value, value.unwrap(), &what);
            near(found.low, low.unwrap_or(0.0), &what);
            match high {
                Some(high) => near(found.high, high, &what),
                None => assert_eq!(found.high, f64::INFINITY, "{what}"),
            }
        }
    }
}

#[test]
fn corrections_are_statsmodels() {
    let expected = expected();
    let holm = Correction::Holm.apply(&expected.p);
    let rate = Correction::BenjaminiHochberg.apply(&expected.p);
    for (found, expected) in holm.iter().zip(&expected.holm) {
        near(*found, *expected, "Holm");
    }
    for (found, expected) in rate.iter().zip(&expected.benjamini_hochberg) {
        near(*found, *expected, "Benjamini and Hochberg");
    }
    assert_eq!(Correction::None.apply(&expected.p), expected.p);
}

#[test]
fn parabolas_are_numpys() {
    for (index, case) in expected().fits.iter().enumerate() {
        let found = Quadratic::fit(&case.points).unwrap();
        // NumPy's powers of x are not orthogonal, so for x near 1,000 it has lost some digits itself.
        let near = |found: f64, expected: f64| {
            let off = (found - expected).abs() / expected.abs().max(1e-3);
            assert!(off < 1e-6, "fit {index}: {found}, and NumPy has {expected}");
        };
        near(found.square, case.square);
        near(found.linear, case.linear);
        near(found.constant, case.constant);
        near(found.r2, case.r2);
        near(
            found.at(2.0),
            case.constant + 2.0 * case.linear + 4.0 * case.square,
        );
    }
    assert_eq!(Quadratic::fit(&[(1.0, 1.0), (1.0, 2.0), (2.0, 1.0)]), None);
}

#[test]
fn intervals_by_drawing_again_are_scipys() {
    let expected = expected();
    for case in &expected.bootstraps {
        let values = &expected.summaries[&case.sample].values;
        let found = quantile_interval(values, case.q).unwrap();
        // The random draws differ: each end may differ by some tenths of a percent of the width, or more.
        let allowed = 0.05 * (case.high - case.low);
        let what = format!("{} {}", case.sample, case.q);
        assert!((found.low - case.low).abs() < allowed, "{what}: {found:?}");
        assert!(
            (found.high - case.high).abs() < allowed,
            "{what}: {found:?}"
        );
        assert_eq!(Some(found), quantile_interval(values, case.q));
    }
}

#[test]
fn samples_that_do_not_vary_differ_for_certain_or_not_at_all() {
    for test in [TTest::Student, TTest::Welch] {
        let same = test.compare(&[4.0, 4.0], &[4.0, 4.0, 4.0]).unwrap();
        assert_eq!((same.p, same.t, same.difference.half()), (1.0, 0.0, 0.0));
        let apart = test.compare(&[4.0, 4.0], &[5.0, 5.0, 5.0]).unwrap();
        assert_eq!((apart.p, apart.t), (0.0, f64::NEG_INFINITY));
        assert_eq!(test.compare(&[4.0], &[5.0, 5.0]), None);
    }
    let ratio = |b: &[f64]| TTest::Welch.ratio(&[1.0, 1.0], b, 0.05);
    assert_eq!(ratio(&[0.0, 0.0]), None);
    assert_eq!(ratio(&[2.0, 2.0]), Some(Interval::around(0.5, 0.0)));
}

#[test]
fn an_interval_has_no_difference_in_it_exactly_where_its_test_finds_one() {
    let p = expected().p;
    for correction in [
        Correction::Holm,
        Correction::BenjaminiHochberg,
        Correction::None,
    ] {
        let (corrected, levels) = (correction.apply(&p), correction.levels(&p));
        for ((p, corrected), level) in p.iter().zip(corrected).zip(levels) {
            assert_eq!(
                *p <= level,
                corrected <= SIGNIFICANCE,
                "{correction:?} {p} {level}"
            );
        }
    }
    // A difference that is significant at 5 % but not at 1 %.
    let (a, b) = ([10.0, 10.4, 10.2], [9.5, 9.9, 9.4]);
    for test in [TTest::Student, TTest::Welch] {
        let compared = test.compare(&a, &b).unwrap();
        assert!((0.01..0.05).contains(&compared.p), "{compared:?}");
        for (level, found) in [(0.05, true), (0.01, false)] {
            let (ratio, difference) = (
                test.ratio(&a, &b, level).unwrap(),
                compared.difference_at(level),
            );
            assert_eq!(ratio.low > 1.0, found, "{ratio:?}");
            assert_eq!(difference.is_above_zero(), found, "{difference:?}");
            // The ends of a ratio's interval are not equally far from it.
            assert!(
                ratio.high - ratio.value > ratio.value - ratio.low,
                "{ratio:?}"
            );
        }
    }
}

#[test]
fn one_measurement_has_no_interval() {
    let one = Summary::of(&[3.0]).unwrap();
    assert_eq!((one.mean.value, one.mean.high), (3.0, f64::INFINITY));
    assert_eq!(Summary::of(&[]), None);
    assert_eq!(quantile_interval(&[3.0], 0.5), None);
}
