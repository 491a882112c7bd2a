//! Adds the joules of two packages, and prints why a package and its cores cannot be added.

use joulio_units::{Energy, How, Joules, Nanos, Zone};

fn energy(zone: Zone, joules: f64) -> Energy {
    Energy {
        boundary: zone.boundary,
        place: zone.place,
        source: "example".into(),
        modelled: false,
        idle_subtracted: false,
        joules: Joules(joules),
        error: Some(Joules(0.1)),
        band: None,
        window: Nanos::from_millis(10_000),
        how: How::Counted {
            aligned: true,
            step: Joules(0.000_061),
        },
    }
}

/// Prints the sum of two packages, and why that of a package and its cores is refused.
pub fn main() {
    use joulio_units::Boundary::{Cores, Package};
    let packages = [0, 1].map(|package| energy(Zone::package(Package, package), 420.0));
    match Energy::sum(&packages) {
        Ok(sum) => println!(
            "both packages: {} over {} s",
            sum.watts(),
            sum.window.seconds()
        ),
        Err(why) => println!("{why}"),
    }
    let cores = energy(Zone::package(Cores, 0), 210.0);
    match packages[0].add(&cores) {
        Ok(_) => println!("a package and its cores were added"),
        Err(why) => println!("a package and its cores: {why}"),
    }
}
