//! What the twin promises about published numbers, by the code that `joulio twin check` runs.

use joulio_twin::check::{Report, check};
use joulio_twin::fit::fit;
use joulio_twin::published::{Field, Paper, Profiles};
use std::error::Error;
use std::sync::OnceLock;

/// Fewer than the command plays: enough for means, and for a debug build.
const IOS: u64 = 8_000;

fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        let papers = Paper::all().unwrap();
        check(&papers, Profiles::default(), IOS).unwrap()
    })
}

#[test]
fn fitted_numbers_are_met() {
    let fitted: Vec<_> = report().numbers.iter().filter(|row| row.fitted).collect();
    assert!(fitted.len() > 40, "{}", fitted.len());
    for row in fitted {
        assert!(!row.broken(), "{}: {}: {}", row.paper, row.what, row.error);
    }
}

#[test]
fn numbers_that_nothing_was_fitted_to_are_met() {
    let others: Vec<_> = report().numbers.iter().filter(|row| !row.fitted).collect();
    assert!(others.iter().filter(|row| row.allowed.is_some()).count() > 30);
    for row in others {
        assert!(!row.broken(), "{}: {}: {}", row.paper, row.what, row.error);
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
        assert!(observation.holds, "{observation:?}");
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
