//! Which energies can be added, and which cannot.

use joulio_units::{Band, Boundary, Energy, How, Joules, Nanos, Place, SumError};
use proptest::prelude::*;

fn energy(boundary: Boundary, place: Place, joules: f64) -> Energy {
    Energy {
        boundary,
        source: format!("test:{boundary}"),
        place,
        modelled: false,
        idle_subtracted: false,
        joules: Joules(joules),
        error: Some(Joules(0.5)),
        band: None,
        window: Nanos(1_000_000_000),
        how: How::Counted {
            aligned: true,
            step: Joules(0.1),
        },
    }
}

fn package(boundary: Boundary, package: u32) -> Energy {
    energy(boundary, Place::package(package), 10.0)
}

#[test]
fn packages_add_up() {
    let sum = package(Boundary::Package, 0)
        .add(&package(Boundary::Package, 1))
        .unwrap();
    assert_eq!((sum.joules, sum.error), (Joules(20.0), Some(Joules(1.0))));
    assert_eq!(sum.zone().to_string(), "package-0 + package-1");
    assert_eq!(sum.how, How::Summed);
    assert!(sum.source.contains(" + "));
}

#[test]
fn a_sum_holds_its_parts() {
    let (zero, one) = (package(Boundary::Package, 0), package(Boundary::Package, 1));
    let sum = zero.add(&one).unwrap();
    assert!(matches!(sum.add(&one), Err(SumError::Same { .. })));
    assert!(matches!(
        sum.add(&package(Boundary::Cores, 1)),
        Err(SumError::Nested { .. })
    ));
    assert!(sum.add(&package(Boundary::Package, 2)).is_ok());
}

#[test]
fn a_package_and_its_cores_are_refused_and_both_are_named() {
    let (whole, part) = (package(Boundary::Package, 0), package(Boundary::Cores, 0));
    for said in [whole.add(&part), part.add(&whole)] {
        let said = said.unwrap_err();
        assert!(matches!(said, SumError::Nested { .. }));
        assert_eq!(
            said.to_string(),
            "cores-0 (test:cores) is part of package-0 (test:package): adding them counts the same joules twice"
        );
    }
}

#[test]
fn the_platform_goes_with_nothing() {
    let psys = package(Boundary::Psys, 0);
    for other in Boundary::ALL {
        let said = psys.add(&package(other, 1)).unwrap_err();
        let same = matches!(said, SumError::Same { .. });
        let nested = matches!(said, SumError::Nested { .. });
        assert!(
            if other == Boundary::Psys {
                same
            } else {
                nested
            },
            "{other}: {said}"
        );
    }
}

#[test]
fn one_zone_read_twice_is_refused() {
    let mut twin = package(Boundary::Package, 0);
    twin.source = "powercap-mmio:package-0".into();
    let said = package(Boundary::Package, 0).add(&twin).unwrap_err();
    assert!(matches!(said, SumError::Same { .. }), "{said}");
    assert!(
        said.to_string().contains("powercap-mmio:package-0"),
        "{said}"
    );
}

#[test]
fn packages_and_memory_are_beside_one_another_and_have_no_sum() {
    let said = package(Boundary::Package, 0)
        .add(&package(Boundary::Dram, 0))
        .unwrap_err();
    assert!(matches!(said, SumError::Boundaries { .. }), "{said}");
}

#[test]
fn figures_of_different_kinds_have_no_sum() {
    let one = package(Boundary::Package, 0);
    let other = || package(Boundary::Package, 1);
    let modelled = Energy {
        modelled: true,
        ..other()
    };
    let above_idle = Energy {
        idle_subtracted: true,
        ..other()
    };
    for other in [modelled, above_idle] {
        assert!(matches!(one.add(&other), Err(SumError::Kinds { .. })));
    }
}

/// A busy machine reads one meter later than the other.
#[test]
fn windows_that_ended_apart_add_their_watts_over_the_shortest() {
    let one = package(Boundary::Package, 0);
    let later = Energy {
        window: Nanos(1_250_000_000),
        joules: Joules(25.0),
        ..package(Boundary::Package, 1)
    };
    for sum in [one.add(&later).unwrap(), later.add(&one).unwrap()] {
        assert_eq!(sum.window, one.window);
        assert!((sum.watts().0 - 30.0).abs() < 1e-9, "{sum:?}");
        // Of the quarter of a second that only one saw, no more is known than its mean.
        let error = sum.error.unwrap().0;
        assert!((error - (0.5 + 0.4 + 20.0 * 0.25)).abs() < 1e-9, "{sum:?}");
    }
}

#[test]
fn windows_of_different_runs_have_no_sum() {
    let one = package(Boundary::Package, 0);
    let longer = Energy {
        window: Nanos(1_400_000_000),
        ..package(Boundary::Package, 1)
    };
    for said in [one.add(&longer), longer.add(&one)] {
        assert!(matches!(said, Err(SumError::Windows { .. })), "{said:?}");
    }
}

#[test]
fn an_error_that_is_not_known_stays_unknown() {
    let vague = Energy {
        error: None,
        ..package(Boundary::Package, 1)
    };
    assert_eq!(
        package(Boundary::Package, 0).add(&vague).unwrap().error,
        None
    );
}

#[test]
fn bands_add_and_a_sum_with_a_part_without_one_has_none() {
    let of = |at, low, high| Energy {
        modelled: true,
        error: None,
        band: Some(Band {
            low: Joules(low),
            high: Joules(high),
        }),
        ..package(Boundary::Package, at)
    };
    let (zero, one) = (of(0, 8.0, 11.0), of(1, 9.0, 20.0));
    let band = zero.add(&one).unwrap().band.unwrap();
    assert_eq!((band.low, band.high), (Joules(17.0), Joules(31.0)));
    let bare = Energy { band: None, ..one };
    assert_eq!(zero.add(&bare).unwrap().band, None);
}

#[test]
fn nothing_has_no_sum_and_one_is_its_own() {
    assert_eq!(Energy::sum(&[]), Err(SumError::Nothing));
    let one = package(Boundary::Dram, 0);
    assert_eq!(Energy::sum(std::slice::from_ref(&one)), Ok(one));
}

proptest! {
    #[test]
    fn whether_two_have_a_sum_does_not_depend_on_their_order(
        one in (0usize..6, 0u32..3, any::<bool>()),
        other in (0usize..6, 0u32..3, any::<bool>()),
    ) {
        let make = |(boundary, at, whole): (usize, u32, bool)| {
            let place = if whole { Place::Machine } else { Place::package(at) };
            energy(Boundary::ALL[boundary], place, 1.0)
        };
        let (one, other) = (make(one), make(other));
        prop_assert_eq!(one.add(&other).is_ok(), other.add(&one).is_ok());
    }
}
