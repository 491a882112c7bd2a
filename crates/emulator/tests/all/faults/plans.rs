//! Plans as text.

use joulio_emulator::{Fault, FaultPlan, Planned, When};
use joulio_nvme_spec::Status;
use joulio_units::Nanos;
use proptest::prelude::*;

#[test]
fn a_plan_is_a_list_of_faults_with_times() {
    let plan: FaultPlan = "seed=7,drop@0.001,status=2/81/dnr@#100,late=50ms@500ms,cfs"
        .parse()
        .unwrap();
    let planned = |fault, when| Planned { fault, when };
    let unrecovered = Status::UNRECOVERED_READ.do_not_retry();
    assert_eq!(plan.seed, 7);
    assert_eq!(
        plan.faults,
        [
            planned(Fault::Drop, When::Rate(0.001)),
            planned(Fault::Status(unrecovered), When::Command(100)),
            planned(
                Fault::Late(Nanos::from_millis(50)),
                When::After(Nanos::from_millis(500))
            ),
            planned(Fault::Cfs, When::After(Nanos::ZERO)),
        ]
    );
    assert_eq!(
        plan.to_string(),
        "seed=7,drop@0.001,status=2/81/dnr@#100,late=50ms@500ms,cfs@0s"
    );
}

#[test]
fn what_is_not_said_has_a_default() {
    let plan: FaultPlan = "status,drop,namespace-removed,full".parse().unwrap();
    assert_eq!(
        plan.to_string(),
        "status=0/06@1,drop@1,namespace-removed=1@0s,full@0s"
    );
    assert_eq!("".parse(), Ok(FaultPlan::default()));
    assert!(FaultPlan::default().is_empty());
    assert_eq!(FaultPlan::default().to_string(), "");
}

#[test]
fn a_bad_plan_is_refused_with_its_part_and_the_kinds() {
    let cases = [
        ("explode", "'explode': there is no such fault"),
        ("drop,,cfs", "'': there is no such fault"),
        ("drop@1.5", "a rate is a number from 0 to 1"),
        ("drop@-0.1", "a rate"),
        ("drop@nan", "a rate"),
        ("drop@", "a rate"),
        ("drop@#0", "a command is a number from 1"),
        ("drop@#x", "a command"),
        ("drop@5xs", "a time is a number"),
        ("drop@2s@3s", "a time is a number"),
        ("drop=1", "it takes no parameter"),
        ("cfs=@1s", "it takes no parameter"),
        ("late", "it takes a time"),
        ("late=50", "a time is a number"),
        ("late=ms", "a time is a number"),
        ("status=", "a status is SCT/SC"),
        ("status=0/00", "a status is"),
        ("status=8/01", "a status is"),
        ("status=0/100", "a status is"),
        ("status=0/+6", "a status is"),
        ("status=0/06/dnr/x", "a status is"),
        ("status=0/06/retry", "a status is"),
        ("namespace-removed=0", "an NSID is"),
        ("namespace-removed=4294967295", "an NSID is"),
        ("seed=x", "a seed is a number"),
        ("seed=1@2s", "a seed is a number"),
    ];
    for (text, reason) in cases {
        let error = text.parse::<FaultPlan>().unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
        assert!(error.contains("lost-irq, spurious-irq"), "{text}: {error}");
        assert!(!error.contains('\n'), "{text}: {error}");
    }
}

pub fn faults() -> impl Strategy<Value = Fault> {
    let statuses = (0..8u16, 0..256u16, any::<bool>()).prop_filter_map("success", |(t, c, dnr)| {
        let status = Status::from_field(t << 8 | c);
        let status = if dnr { status.do_not_retry() } else { status };
        (!status.is_success()).then_some(Fault::Status(status))
    });
    prop_oneof![
        statuses,
        any::<u64>().prop_map(|nanos| Fault::Late(Nanos(nanos))),
        (1..u32::MAX).prop_map(Fault::NamespaceRemoved),
        prop::sample::select(vec![
            Fault::Drop,
            Fault::Double,
            Fault::Reorder,
            Fault::Stale,
            Fault::Unknown,
            Fault::LostIrq,
            Fault::SpuriousIrq,
            Fault::Flip,
            Fault::Cfs,
            Fault::Removed,
            Fault::AdminStuck,
            Fault::Full,
            Fault::StuckReset,
            Fault::StuckFlr,
        ]),
    ]
}

pub fn times() -> impl Strategy<Value = When> {
    prop_oneof![
        (0.0..=1.0).prop_map(When::Rate),
        (1..=u64::MAX).prop_map(When::Command),
        any::<u64>().prop_map(|nanos| When::After(Nanos(nanos))),
        (0..100_000u64).prop_map(|ms| When::After(Nanos::from_millis(ms))),
    ]
}

proptest! {
    #[test]
    fn a_plan_reads_back_as_it_was_printed(
        seed in any::<u64>(),
        faults in prop::collection::vec((faults(), times()), 0..8),
    ) {
        let faults = faults.into_iter();
        let faults = faults.map(|(fault, when)| Planned { fault, when }).collect();
        let plan = FaultPlan { seed, faults };
        prop_assert_eq!(plan.to_string().parse::<FaultPlan>(), Ok(plan));
    }

    #[test]
    fn no_text_is_more_than_refused(text in "[a-z0-9=@#,./-]{0,40}") {
        if let Ok(plan) = text.parse::<FaultPlan>() {
            prop_assert_eq!(plan.to_string().parse::<FaultPlan>(), Ok(plan));
        }
    }
}
