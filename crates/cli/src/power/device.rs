//! A storage device that is asked for its own power.

use crate::failure::Failure;
use crate::power_states::meter::meter;
use crate::power_states::port::PortName;
use joulio_energy::{
    About, Clock, Discovery, Finding, Meter, MeterError, Reading, Root, Source, State,
};

/// Adds the meter of the device `name`, or why it has none.
pub fn ask(name: &PortName, root: &Root, discovery: &mut Discovery) -> Result<(), Failure> {
    let port = name.open()?;
    discovery.others.retain(|other| other.name != "nvme");
    match meter(&port, &**root.clock()) {
        Ok(meter) if port.is_mortal() => discovery.meters.push(Box::new(Modelled::new(meter))),
        Ok(meter) => discovery.meters.push(Box::new(meter)),
        Err(error) => discovery.others.push(Finding {
            name: format!("nvme:{}", name.text()),
            source: Source::Nvme,
            zone: None,
            state: State::Unreadable {
                why: error.to_string(),
                allow: None,
            },
        }),
    }
    Ok(())
}

/// The meter of an emulated device: its watts are its profile's.
#[derive(Debug)]
struct Modelled<M> {
    meter: M,
    about: About,
}

impl<M: Meter> Modelled<M> {
    fn new(meter: M) -> Modelled<M> {
        let about = About {
            modelled: true,
            ..meter.about().clone()
        };
        Modelled { meter, about }
    }
}

impl<M: Meter> Meter for Modelled<M> {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, clock: &dyn Clock) -> Result<Reading, MeterError> {
        let reading = self.meter.read(clock);
        // Its step may have become finer.
        self.about.kind = self.meter.about().kind;
        reading
    }
}
