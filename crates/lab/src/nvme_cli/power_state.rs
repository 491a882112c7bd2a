//! Power states of Identify Controller (Base figure 276).

use joulio_nvme_spec::identify::{PowerScale, PowerStateDescriptor};

/// Returns the three lines of power state `index`.
pub fn text(index: usize, d: &PowerStateDescriptor) -> String {
    let flags = d.power_state_flags();
    let max = if flags.mxps() {
        watts(d.mp.get(), PowerScale::HundredMicrowatts)
    } else {
        watts(d.mp.get(), PowerScale::TenMilliwatts)
    };
    let kind = if flags.nops() {
        "non-operational"
    } else {
        "operational"
    };
    format!(
        "ps {index:6} : mp:{max} {kind} enlat:{} exlat:{} rrt:{} rrl:{}\n\
         {INDENT}rwt:{} rwl:{} idle_power:{} active_power:{}\n\
         {INDENT}active_power_workload:{}\n",
        d.enlat,
        d.exlat,
        d.rrt,
        d.rrl,
        d.rwt,
        d.rwl,
        watts(d.idlp.get(), d.idle_scale()),
        watts(d.actp.get(), d.active_scale()),
        workload(d.active_workload()),
    )
}

const INDENT: &str = "            ";

/// Formats a power with all the digits that its unit has.
fn watts(n: u16, scale: PowerScale) -> String {
    match scale {
        PowerScale::NotReported => "-".to_owned(),
        PowerScale::HundredMicrowatts => format!("{}.{:04}W", n / 10_000, n % 10_000),
        PowerScale::TenMilliwatts => format!("{}.{:02}W", n / 100, n % 100),
        PowerScale::Reserved => "reserved".to_owned(),
    }
}

/// Returns the workload with which the active power was measured.
fn workload(apw: u8) -> &'static str {
    match apw {
        0 => "-",
        1 => "1MiB 32 RW, 30s idle",
        2 => "80K 128KiB SW",
        _ => "reserved",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::power_state_json;

    /// Creates a descriptor; the arguments are mp, flags, (idlp, ips) and (actp, apw_aps).
    fn state(mp: u16, flags: u8, idle: (u16, u8), active: (u16, u8)) -> PowerStateDescriptor {
        PowerStateDescriptor {
            mp: mp.into(),
            flags,
            idlp: idle.0.into(),
            ips: idle.1 << 6,
            actp: active.0.into(),
            apw_aps: active.1,
            ..Default::default()
        }
    }

    #[test]
    fn an_operational_state_shows_idle_and_active_power_and_the_workload() {
        let mut d = state(900, 0, (500, 2), (850, 2 << 6 | 1));
        (d.rrt, d.rrl, d.rwt, d.rwl) = (31, 30, 29, 28);
        assert_eq!(
            text(1, &d),
            "ps      1 : mp:9.00W operational enlat:0 exlat:0 rrt:31 rrl:30\n            \
             rwt:29 rwl:28 idle_power:5.00W active_power:8.50W\n            \
             active_power_workload:1MiB 32 RW, 30s idle\n"
        );
    }

    #[test]
    fn a_non_operational_state_in_units_of_100_uw_shows_four_decimals() {
        let mut d = state(500, 3, (50, 1), (0, 0));
        (d.enlat, d.exlat) = (4000.into(), 100_000.into());
        assert_eq!(
            text(10, &d),
            "ps     10 : mp:0.0500W non-operational enlat:4000 exlat:100000 rrt:0 rrl:0\n            \
             rwt:0 rwl:0 idle_power:0.0050W active_power:-\n            \
             active_power_workload:-\n"
        );
    }

    #[test]
    fn idle_and_active_power_have_scales_of_their_own() {
        let shown = text(2, &state(300, 1, (65535, 2), (12345, 1 << 6 | 2)));
        assert!(shown.contains("mp:0.0300W operational"));
        assert!(shown.contains("idle_power:655.35W active_power:1.2345W\n"));
        assert!(shown.contains("active_power_workload:80K 128KiB SW\n"));
    }

    #[test]
    fn reserved_scales_and_workloads_say_so() {
        let shown = text(4, &state(50, 2, (7, 3), (8, 3 << 6 | 3)));
        assert!(shown.contains("idle_power:reserved active_power:reserved\n"));
        assert!(shown.contains("active_power_workload:reserved\n"));
    }

    #[test]
    fn json_has_the_raw_numbers_and_their_scales() {
        let shown = power_state_json(&state(500, 3, (50, 1), (9, 2 << 6 | 1)));
        assert_eq!(shown["max_power"], 500);
        assert_eq!(shown["flags"], 3);
        assert_eq!(shown["idle_scale"], 1);
        assert_eq!(shown["active_scale"], 2);
        assert_eq!(shown["active_power_work"], 1);
    }
}
