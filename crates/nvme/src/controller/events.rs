//! Asynchronous events (Base 5.2), which the controller reports by itself.

use super::shared::Shared;
use super::{Controller, NvmeError};
use crate::admin::Admin;
use joulio_device::Device;
use joulio_nvme_spec::feature::FeatureId;
use joulio_nvme_spec::identify::ActiveNamespaces;
use joulio_nvme_spec::log::LogId;
use joulio_nvme_spec::{AsyncEvent, Command, NamespaceId};

/// Events that are requested (feature 0Bh, Base figure 326): all SMART warnings and, where the controller has them,
/// the notices of namespaces.
const SMART_WARNINGS: u32 = 0x1f;
const NAMESPACE_NOTICES: u32 = 1 << 8;

impl<D: Device> Controller<D> {
    /// Returns the events that came since the last call, the oldest first, and requests more (NVM Express Base 2.0,
    /// 5.2). The log page of each event was read, which lets the controller send the next event of that kind.
    ///
    /// # Errors
    /// The admin queue fails or is cancelled, or there is no controller any more.
    pub fn events(&self) -> Result<Vec<AsyncEvent>, NvmeError> {
        self.shared.settled()?;
        let came = self.shared.admin().take_events();
        let (mut events, mut failed) = (Vec::new(), None);
        for &event in &came {
            match self.shared.read_log_of(event) {
                Ok(()) => events.push(event),
                Err(error) => {
                    // The controller reports no other of this kind until the log page is read: the next call tries
                    // again.
                    self.shared.admin().keep(event);
                    failed = failed.or(Some(error));
                }
            }
        }
        if !came.is_empty() {
            self.shared.ask_for_more_events(&mut self.shared.admin());
        }
        match failed {
            Some(error) if events.is_empty() => Err(error),
            _ => Ok(events),
        }
    }
}

impl<D: Device> Shared<D> {
    /// Configures events and leaves requests with the controller. Errors are ignored: a controller without events is
    /// one that reports nothing.
    pub(super) fn ask_for_events(&self, admin: &mut Admin<D>) {
        let notices = self.identity().oaes.get() & NAMESPACE_NOTICES;
        let wanted = SMART_WARNINGS | notices;
        let fid = FeatureId::ASYNCHRONOUS_EVENT_CONFIGURATION;
        let _ = admin.run(
            "Set Features (Asynchronous Event Configuration)",
            Command::set_features(fid, wanted),
        );
        self.ask_for_more_events(admin);
    }

    /// Leaves as many requests with the controller as it accepts (AERL).
    fn ask_for_more_events(&self, admin: &mut Admin<D>) {
        admin.request_events(self.identity().event_request_limit() as usize);
    }

    /// Reads the log page of an event, which acknowledges the event.
    fn read_log_of(&self, event: AsyncEvent) -> Result<(), NvmeError> {
        let log = event.log_page();
        let bytes = match log {
            LogId::ERROR_INFORMATION => 64,
            LogId::SMART_HEALTH => 512,
            LogId::CHANGED_NAMESPACES => 4096,
            // A log page that the driver does not know: the program that asked for the event reads it.
            _ => return Ok(()),
        };
        let command = Command::get_log_page(log, NamespaceId::ALL, bytes);
        // The largest of these log pages is a page.
        self.fetch::<ActiveNamespaces>("Get Log Page (event)", command)?;
        Ok(())
    }

    /// Takes in events that have come, if no other thread uses the admin queue.
    pub(crate) fn collect_events(&self) {
        if let Some(mut admin) = self.try_admin() {
            admin.collect_events();
        }
    }
}
