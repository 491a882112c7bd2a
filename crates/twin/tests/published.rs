//! What the twin promises about published numbers, by the code that `joulio twin check` runs.

use joulio_twin::check::{Report, Row, check};
use joulio_twin::fit::fit;
use joulio_twin::published::{Basis, Field, Metric, Number, Paper, Profiles};
use std::error::Error;
use std::sync::OnceLock;

/// Fewer than the command simulates: enough for means, and for a debug build.
const IOS: u64 = 8_000;

fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        let papers = Paper::all().unwrap();
        check(&papers, Profiles::default(), IOS).unwrap()
    })
}

fn of(basis: Basis) -> impl Iterator<Item = &'static Row> {
    report()
        .numbers
        .iter()
        .filter(move |row| row.basis == basis)
}

#[test]
fn fitted_numbers_are_met() {
    let fitted: Vec<_> = of(Basis::Fitted).collect();
    assert!(fitted.len() > 40, "{}", fitted.len());
    for row in fitted {
        assert!(!row.broken(), "{}: {}: {}", row.paper, row.what, row.error);
    }
}

#[test]
fn numbers_that_nothing_was_fitted_to_are_met() {
    let free = of(Basis::Free).filter(|row| row.allowed.is_some());
    assert!(free.count() > 15);
    for row in of(Basis::Free).chain(of(Basis::Implied)) {
        assert!(!row.broken(), "{}: {}: {}", row.paper, row.what, row.error);
    }
}

/// Of one run the same metric, or what Little's law makes of it in a closed loop.
fn same(a: &Number, b: &Number) -> bool {
    let little = [Metric::Iops, Metric::LatencyUs];
    let metrics = a.metric == b.metric || little.contains(&a.metric) && little.contains(&b.metric);
    metrics && a.run == b.run && a.over == b.over && a.minus == b.minus
}

#[test]
fn nothing_that_a_fitted_number_implies_is_told_as_not_fitted() {
    for paper in Paper::all().unwrap() {
        for number in &paper.number {
            let fitted = paper
                .number
                .iter()
                .find(|one| one.fitted && same(one, number));
            let told = format!("{}: {} is {:?}", paper.name, number.what, number.basis());
            assert!(number.basis() != Basis::Free || fitted.is_none(), "{told}");
            for name in &number.implied_by {
                let other = paper
                    .number(name)
                    .is_some_and(|one| one.what != number.what);
                let mut profiles = Profiles::default();
                let field = name
                    .parse()
                    .is_ok_and(|field| profiles.figure(&field).is_ok());
                assert!(other || field, "{told} by '{name}', which is nowhere");
            }
        }
    }
}

#[test]
fn the_error_of_a_gain_is_that_of_the_gain() {
    let figure_6a = "SPDK+ over SPDK, random read, 7 cores, depth 32: % I/Os for a joule";
    let mut rows = report().numbers.iter();
    let row = rows.find(|row| row.what == figure_6a).unwrap();
    // 5.9 % for 14.6 to 18.2 %.
    let off = row.modelled / 14.6 - 1.0;
    assert!((row.error - off).abs() < 1e-9 && off < -0.5, "{row:?}");
    assert!(row.missed() && !row.broken() && row.known.is_some());
}

#[test]
fn whatever_is_declared_not_to_reproduce_does_not() {
    let papers = Paper::all().unwrap();
    let numbers = papers.iter().flat_map(|paper| &paper.number);
    let claims = papers.iter().flat_map(|paper| &paper.claim);
    let numbers = numbers.filter_map(|one| Some((&one.what, one.known.as_ref()?)));
    let claims = claims.filter_map(|one| Some((&one.what, one.known.as_ref()?)));
    let told = report().declared();
    let declared: Vec<_> = numbers.chain(claims).collect();
    assert_eq!(told.len(), declared.len(), "{told:#?}");
    for ((what, why), line) in declared.iter().zip(&told) {
        assert!(
            told.iter()
                .any(|line| line.ends_with(&format!(": {what}: {why}"))),
            "{line}"
        );
    }
    let falls = "Observation 7: beyond it an Optane's fall";
    let mut words = report().observations.iter();
    let falls = words.find(|one| one.what == falls).unwrap();
    assert!(!falls.holds && falls.miss.unwrap() < 0.0, "{falls:?}");
}

#[test]
fn a_number_of_a_run_past_the_part_s_tdp_says_so() {
    let row = |what: &str| {
        let mut rows = report().numbers.iter();
        rows.find(|row| row.what.contains(what)).unwrap()
    };
    let past = row("46 cores").past_tdp.unwrap();
    assert!(past.tdp_watts == 330.0 && past.package_watts > 400.0);
    // Its timer's wake-ups alone are more than half of the part's 80 W.
    let past = row("hybrid, 8 threads: IOPS").past_tdp.unwrap();
    assert!(past.tdp_watts == 80.0 && past.package_watts < 110.0);
    for within in [
        "7 cores, depth 32",
        "hybrid, 1 thread: IOPS",
        "200 W loaded",
    ] {
        assert_eq!(row(within).past_tdp, None, "{within}");
    }
}

#[test]
fn methods_are_in_the_order_that_was_printed() {
    assert!(report().orders.len() > 30);
    for order in &report().orders {
        assert!(
            order.kept,
            "{}: {} above {}",
            order.paper, order.more, order.less
        );
    }
}

#[test]
fn observations_come_out() {
    assert!(report().observations.len() > 15);
    for observation in &report().observations {
        assert!(!observation.broken(), "{observation:?}");
    }
}

#[test]
fn the_break_even_rule_holds_in_closed_loops_and_in_open_ones_base_power_drops_out() {
    for rule in &report().rules {
        assert_eq!(rule.predicted, rule.modelled, "{rule:?}");
    }
    let open = report()
        .rules
        .iter()
        .find(|rule| rule.what.starts_with("open"));
    // What is left are the wake-ups' joules: in a closed loop it is a hundred watts and more.
    assert!(open.unwrap().break_even_watts.abs() < 0.5);
}

#[test]
fn profiles_hold_printed_numbers_as_they_were_printed() {
    assert!(!report().inputs.is_empty());
    for held in &report().inputs {
        assert!(!held.broken(), "{held:?}");
    }
}

#[test]
fn the_conflict_of_spdk_plus_is_told_with_the_band_of_its_saving() {
    let conflict = &report().conflicts[0];
    assert!(conflict.limit == 330.0 && conflict.modelled > 400.0);
    let headline = report().numbers.iter().find(|row| row.published == 49.5);
    let [low, high] = headline.unwrap().band.unwrap();
    assert!(
        high.min(low) < 1.0 && high.max(low) > 45.0,
        "{low} to {high}"
    );
}

#[test]
fn a_broken_profile_breaks_its_promises() {
    let papers: Vec<_> = Paper::all().unwrap();
    let papers: Vec<_> = papers.into_iter().filter(|p| p.name == "DPAS").collect();
    let mut profiles = Profiles::default();
    let field: Field = "machine:xeon-6230.costs.wake_ns".parse().unwrap();
    profiles.set(&field, 1_900.0).unwrap();
    let report = check(&papers, profiles, 2_000).unwrap();
    let broken = report.broken();
    assert!(
        broken
            .iter()
            .any(|line| line == "DPAS: interrupt, 1 thread: IOPS"),
        "{broken:?}"
    );
}

#[test]
fn a_fit_from_other_values_comes_back_to_the_shipped_ones() -> Result<(), Box<dyn Error>> {
    let papers: Vec<_> = Paper::all()?;
    let papers: Vec<_> = papers.into_iter().filter(|p| p.name == "DPAS").collect();
    let mut shipped = Profiles::default();
    let mut perturbed = Profiles::default();
    for (i, fitted) in papers[0].fit.iter().enumerate() {
        let field: Field = fitted.field.parse()?;
        let is = shipped.figure(&field)?.value;
        perturbed.set(&field, is * if i % 2 == 0 { 1.15 } else { 0.85 })?;
    }
    for change in fit(&papers, perturbed, 4_000)? {
        let is = shipped.figure(&change.field.parse()?)?.value;
        assert!(change.from != is);
        // The fewer I/Os, the rougher the numbers that decide.
        let near = (0.05 * is).max(f64::min(40.0, 0.2 * is));
        let off = (change.to - is).abs();
        assert!(off <= near, "{}: {} for {is}", change.field, change.to);
    }
    Ok(())
}
