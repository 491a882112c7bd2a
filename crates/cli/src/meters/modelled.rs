//! The meter of a device that is not there.

use joulio_energy::{About, Clock, Meter, MeterError, Reading};

/// The meter of an emulated device: its watts are its profile's.
#[derive(Debug)]
pub struct Modelled<M> {
    meter: M,
    about: About,
}

impl<M: Meter> Modelled<M> {
    pub fn new(meter: M) -> Modelled<M> {
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
