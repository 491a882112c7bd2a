//! Prints the meters of this machine with their figures for one second, or the reason why there are none.

use joulio_energy::{Meters, Root, Select};
use std::thread::sleep;
use std::time::Duration;

/// Prints the meters of the machine `root`, with their figures for one second.
pub fn run(root: &Root) -> Result<(), Box<dyn std::error::Error>> {
    let mut discovery = Meters::discover(root, &Select::all());
    for other in &discovery.others {
        println!("{}: {:?}", other.name, other.state);
    }
    if discovery.meters.is_empty() {
        println!("no meter can be read here");
        return Ok(());
    }
    let window = discovery.meters.open()?;
    sleep(Duration::from_millis(1100));
    for measured in window.close(None) {
        match measured.figure {
            Ok(figure) => println!("{}: {}", measured.about.name, figure.total.watts()),
            Err(why) => println!("{}: {why}", measured.about.name),
        }
    }
    Ok(())
}

#[allow(dead_code, reason = "a test runs this file too, by `run`")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(&Root::system())
}
