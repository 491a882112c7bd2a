//! The errors that the twin may have against published numbers, tested with the code of `joulio twin check`.

use joulio_job::{LatencyStatistic, Metric, Side};
use joulio_model::{DeviceProfile, Figure, FigureKind, MachineProfile};
use joulio_twin::check::{CheckReport, NumberCheck, PaperSummary, check};
use joulio_twin::fit::fit;
use joulio_twin::hold_out::{Score, hold_out};
use joulio_twin::published::{Basis, Paper, ProfileField, Profiles, PublishedNumber};
use serde::Serialize;
use std::collections::BTreeSet;
use std::error::Error;
use std::sync::OnceLock;

/// I/Os per run, fewer than the command simulates: enough for means, and few enough for a debug build.
const IOS: u64 = 8_000;

fn report() -> &'static CheckReport {
    static REPORT: OnceLock<CheckReport> = OnceLock::new();
    REPORT.get_or_init(|| {
        let papers = Paper::all().unwrap();
        check(&papers, Profiles::default(), IOS).unwrap()
    })
}

fn of(basis: Basis) -> impl Iterator<Item = &'static NumberCheck> {
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

/// Returns true if two numbers are the same metric of the same run, or follow from each other by Little's law in a
/// closed loop.
fn same(a: &PublishedNumber, b: &PublishedNumber) -> bool {
    let little = [
        Metric::Iops(Side::All),
        Metric::Latency(Side::All, LatencyStatistic::Mean),
    ];
    let metrics = a.metric == b.metric || little.contains(&a.metric) && little.contains(&b.metric);
    metrics && a.run == b.run && a.over == b.over && a.minus == b.minus
}

#[test]
fn nothing_that_a_fitted_number_implies_is_reported_as_not_fitted() {
    for paper in Paper::all().unwrap() {
        for number in &paper.number {
            let fitted = paper
                .number
                .iter()
                .find(|one| one.fitted && same(one, number));
            let line = format!("{}: {} is {:?}", paper.name, number.what, number.basis());
            assert!(number.basis() != Basis::Free || fitted.is_none(), "{line}");
            for name in &number.implied_by {
                let other = paper
                    .number(name)
                    .is_some_and(|one| one.what != number.what);
                let mut profiles = Profiles::default();
                let field = name
                    .parse()
                    .is_ok_and(|field| profiles.figure(&field).is_ok());
                assert!(other || field, "{line} by '{name}', which is nowhere");
            }
        }
    }
}

/// Lists the names and figures of `values`, a profile.
fn figures(values: &toml::Value, path: &str, found: &mut Vec<(String, Figure)>) {
    let step = |key: &str| match path.is_empty() {
        true => key.to_owned(),
        false => format!("{path}.{key}"),
    };
    if let Ok(figure) = values.clone().try_into() {
        found.push((path.to_owned(), figure));
        return;
    }
    match values {
        toml::Value::Table(table) => {
            for (key, value) in table {
                figures(value, &step(key), found);
            }
        }
        toml::Value::Array(array) => {
            for (index, value) in array.iter().enumerate() {
                figures(value, &step(&index.to_string()), found);
            }
        }
        _ => {}
    }
}

/// Returns the names of the fitted figures of a profile.
fn fitted_of(kind: &str, name: &str, profile: &impl Serialize) -> Vec<String> {
    let mut all = Vec::new();
    figures(&toml::Value::try_from(profile).unwrap(), "", &mut all);
    assert!(all.len() > 10, "{name}");
    all.retain(|(_, figure)| figure.kind == FigureKind::Fitted);
    all.into_iter()
        .map(|(path, _)| format!("{kind}:{name}.{path}"))
        .collect()
}

#[test]
fn every_fitted_figure_says_what_it_was_fitted_to() {
    let papers = Paper::all().unwrap();
    let fitted: BTreeSet<_> = papers
        .iter()
        .flat_map(|paper| &paper.fit)
        .map(|fit| fit.field.clone())
        .collect();
    let mut found = BTreeSet::new();
    for name in MachineProfile::names() {
        let profile = MachineProfile::builtin(name).unwrap();
        found.extend(fitted_of("machine", name, &profile));
    }
    for name in DeviceProfile::names() {
        let profile = DeviceProfile::builtin(name).unwrap();
        found.extend(fitted_of("device", name, &profile));
    }
    assert!(found.len() > 30);
    assert_eq!(found, fitted);
    for paper in &papers {
        for fit in &paper.fit {
            for what in &fit.to {
                let claim = paper.claim.iter().any(|claim| claim.what == *what);
                let number = paper.number(what);
                match &fit.by_hand {
                    Some(_) => assert!(claim || number.is_some(), "{}: {what}", fit.field),
                    None => assert!(number.is_some_and(|n| n.fitted), "{}: {what}", fit.field),
                }
            }
        }
    }
}

#[test]
fn figures_that_were_set_by_hand_are_reported() {
    let by_hand = &report().by_hand;
    assert!(by_hand.len() >= 7);
    let timer = by_hand
        .iter()
        .find(|set| set.field.ends_with("timer_joules"));
    assert_eq!(timer.unwrap().value, 90e-6);
}

#[test]
fn a_summary_counts_every_number_and_observation_once() {
    let summary = report().summary();
    assert_eq!(summary.len(), 8);
    let counted = |of: &PaperSummary| {
        of.predicted + of.fitted + of.restated + of.not_reproduced + of.unpromised
    };
    let all: usize = summary.iter().map(counted).sum();
    assert_eq!(all, report().numbers.len() + report().observations.len());
    let dpas = summary.iter().find(|of| of.paper == "DPAS").unwrap();
    assert!(
        dpas.predicted > 10 && dpas.fitted > 15 && dpas.not_reproduced == 0,
        "{dpas:?}"
    );
    // An Optane's falling I/Os per joule are an observation, which has no number.
    let hs20 = summary.iter().find(|of| of.paper == "HS20").unwrap();
    assert!(hs20.not_reproduced >= 1, "{hs20:?}");
}

#[test]
fn an_observation_that_a_figure_was_fitted_to_says_so() {
    let fitted = |of: &str| {
        let claims = report().observations.iter();
        let fitted = claims.filter(|claim| claim.basis == Basis::Fitted);
        fitted.filter(|claim| claim.paper == of).count()
    };
    assert_eq!((fitted("HS22"), fitted("HS20")), (3, 0));
}

#[test]
fn the_error_of_a_gain_is_that_of_the_gain() {
    let figure_6a = "SPDK+ over SPDK, random read, 7 cores, depth 64: % I/Os per joule";
    let mut rows = report().numbers.iter();
    let row = rows.find(|row| row.what == figure_6a).unwrap();
    // 6 % instead of 14.6 to 18.2 %.
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
    let declared_lines = report().declared();
    let declared: Vec<_> = numbers.chain(claims).collect();
    assert_eq!(declared_lines.len(), declared.len(), "{declared_lines:#?}");
    for ((what, why), line) in declared.iter().zip(&declared_lines) {
        assert!(
            declared_lines
                .iter()
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
    // The wake-ups by its timer alone take more than half of the processor's 80 W.
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
    // The rest is the energy of the wake-ups: in a closed loop it is a hundred watts and more.
    assert!(open.unwrap().break_even_watts.unwrap().abs() < 0.5);
}

#[test]
fn profiles_hold_printed_numbers_as_they_were_printed() {
    assert!(!report().inputs.is_empty());
    for held in &report().inputs {
        assert!(!held.broken(), "{held:?}");
    }
}

#[test]
fn what_a_saving_gives_rises_with_it_and_meets_the_printed_gain_where_it_says() {
    let savings = &report().savings;
    assert_eq!(savings.len(), 2);
    for row in savings {
        assert!(
            row.gains.windows(2).all(|two| two[0].1 < two[1].1),
            "{row:?}"
        );
        let at = row.true_at_percent.unwrap();
        let below = row.gains.iter().rfind(|gain| gain.0 <= at).unwrap();
        assert!(below.1 <= row.published + 1e-9, "{row:?}");
        let above = row.gains.iter().find(|gain| gain.0 > at);
        assert!(above.is_none_or(|gain| gain.1 >= row.published), "{row:?}");
        // Without a saving there is hardly any gain: a user interrupt has a small cost.
        assert!(row.gains[0].1.abs() < 5.0, "{row:?}");
    }
}

#[test]
fn the_conflict_of_spdk_plus_is_reported_with_the_band_of_its_saving() {
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
    let field: ProfileField = "machine:xeon-6230.costs.wake_ns".parse().unwrap();
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
    let fits = papers[0].fit.iter();
    let searched = fits.filter(|fitted| fitted.by_hand.is_none());
    for (i, fitted) in searched.enumerate() {
        let field: ProfileField = fitted.field.parse()?;
        let is = shipped.figure(&field)?.value;
        perturbed.set(&field, is * if i % 2 == 0 { 1.15 } else { 0.85 })?;
    }
    for change in fit(&papers, perturbed, 4_000)? {
        let is = shipped.figure(&change.field.parse()?)?.value;
        assert!(change.from != is);
        // With fewer I/Os, the numbers that determine a figure are less exact; and the start of a cold start and
        // its largest value are determined by nearly the same numbers.
        let near = (0.05 * is).max(f64::min(100.0, 0.2 * is));
        let off = (change.to - is).abs();
        assert!(off <= near, "{}: {} for {is}", change.field, change.to);
    }
    Ok(())
}

/// Returns HS23 with one hold-out, which withholds reads with interrupts, and the figure that they determine.
fn reads_withheld() -> Vec<Paper> {
    let mut papers = Paper::named(&["HS23".into()]).unwrap();
    let paper = &mut papers[0];
    paper.hold_out.truncate(1);
    paper.fit.retain(|fit| fit.field.ends_with("uring.exit_ns"));
    assert_eq!(paper.fit.len(), 1);
    papers
}

#[test]
fn a_hold_out_predicts_what_its_fit_has_not_seen() {
    let papers = reads_withheld();
    let predicted = hold_out(&papers, &Profiles::default(), 1_000).unwrap();
    let [one] = predicted.as_slice() else {
        panic!("{predicted:?}")
    };
    assert!(one.undecided.is_empty());
    let withheld: Vec<_> = one.numbers.iter().map(|row| row.what.as_str()).collect();
    assert!(withheld.contains(&"none, read, defaults: median us"));
    assert!(withheld.iter().all(|what| what.contains("read, defaults")));
    let score = Score::of(&predicted);
    // Medians of four schedulers; the time that three of them add is a difference, and not a speed.
    assert_eq!(
        (withheld.len(), score.speed.count, score.cpu.count),
        (7, 4, 0)
    );
    assert!(score.speed.worst < 0.2, "{score:?}");
    // A figure that only the withheld numbers determine gets no information from them.
    let mut lost = reads_withheld();
    lost[0].fit[0].instead.clear();
    let blind = hold_out(&lost, &Profiles::default(), 1_000).unwrap();
    assert_eq!(
        blind[0].undecided,
        ["machine:xeon-e3-1230v5.costs.uring.exit_ns"]
    );
    assert!(Score::of(&blind).speed.worst > score.speed.worst);
}
