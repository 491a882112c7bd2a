//! The meter of an emulated device.

use joulio_energy::{About, Clock, Meter, MeterError, Reading};

/// A meter of an emulated device, whose watts are a profile's.
#[derive(Debug)]
pub(super) struct Modelled<M> {
    meter: M,
    about: About,
}

impl<M: Meter> Modelled<M> {
    pub(super) fn new(meter: M) -> Modelled<M> {
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
