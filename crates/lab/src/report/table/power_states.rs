//! Power states of a device's profile.

use super::{Parts, Row, TableMaker, Value};
use crate::report::value::short;
use joulio_model::DeviceProfile;

impl TableMaker<'_> {
    pub(super) fn power_states(&self) -> Result<Parts, String> {
        let device = self.spec.device.as_deref().unwrap_or("");
        let profile = DeviceProfile::builtin(device).map_err(|error| error.to_string())?;
        let rows = profile
            .power
            .states
            .iter()
            .enumerate()
            .map(|(index, state)| Row {
                heads: vec![index.to_string()],
                cells: vec![
                    Value::Text(if state.operational { "yes" } else { "no" }.into()),
                    Value::Text(short(state.max_power_watts.value)),
                    Value::Text(short(state.entry_latency_us.value)),
                    Value::Text(short(state.exit_latency_us.value)),
                ],
            });
        let rows: Vec<_> = rows.collect();
        let columns = [
            "operational",
            "most power, W",
            "entry latency, µs",
            "exit latency, µs",
        ];
        Ok((
            vec!["state".into()],
            columns.map(str::to_owned).into(),
            rows,
        ))
    }
}
