//! fio's options, and what each of them is here.

use joulio_kernel_io::block_device_of;

/// Meaning of an option here.
pub(super) enum Word {
    /// The flag of the same meaning, which takes its value.
    Same(&'static str),
    /// The flag of the same meaning, in whose values commas and colons have their place.
    Whole(&'static str),
    /// A flag without a value, given where the option is on.
    Switch(&'static str),
    /// Flags that depend on its value.
    Translated(fn(&str) -> Result<Vec<String>, String>),
    /// Values that say what is always so here; others are refused, with the reason.
    Always(&'static [&'static str], &'static str),
    /// Meant for the section or for several options together, and read there.
    OfSection,
    /// Not here, and what takes its place.
    Refused(&'static str),
}

/// Every option that is known, the refused ones too.
#[cfg(test)]
pub(super) const WORDS: &[&str] = &[
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "iodepth",
    "numjobs",
    "rwmixread",
    "rwmixwrite",
    "size",
    "io_size",
    "number_ios",
    "runtime",
    "timeout",
    "ramp_time",
    "time_based",
    "rate_iops",
    "rate_process",
    "filename",
    "ioengine",
    "cmd_type",
    "nonvectored",
    "direct",
    "buffered",
    "hipri",
    "sqthread_poll",
    "sqthread_poll_cpu",
    "fixedbufs",
    "registerfiles",
    "cpus_allowed",
    "cpus_allowed_policy",
    "ioscheduler",
    "randseed",
    "randrepeat",
    "allrandrepeat",
    "random_generator",
    "blockalign",
    "ba",
    "io_submit_mode",
    "latency_target",
    "latency_window",
    "latency_percentile",
    "latency_run",
    "norandommap",
    "verify",
    "do_verify",
    "group_reporting",
    "thread",
    "threads",
    "name",
    "description",
    "stonewall",
    "wait_for_previous",
    "wait_for",
    "new_group",
    "startdelay",
    "exitall",
    "loops",
    "invalidate",
    "nrfiles",
    "nr_files",
    "filesize",
    "allow_file_create",
    "create_on_open",
    "create_serialize",
    "unlink",
    "fallocate",
    "gtod_reduce",
    "disable_lat",
    "disable_slat",
    "disable_clat",
    "clat_percentiles",
    "allow_mounted_write",
    "thinktime",
    "thinktime_blocks",
    "fsync",
    "fdatasync",
    "end_fsync",
    "bssplit",
    "bsrange",
    "random_distribution",
    "offset",
    "percentile_list",
    "write_lat_log",
    "write_bw_log",
    "write_iops_log",
    "log_avg_msec",
    "log_offset",
    "directory",
    "iodepth_batch",
    "iodepth_batch_submit",
    "iodepth_batch_complete",
    "iodepth_batch_complete_min",
    "rate",
    "rate_min",
    "ratemin",
    "lat_percentiles",
    "steadystate",
    "ss",
    "steadystate_duration",
    "ss_dur",
    "steadystate_ramp_time",
    "ss_ramp",
    "steadystate_check_interval",
    "ss_interval",
    "status_interval",
    "minimal",
    "eta",
    "readonly",
    "zonemode",
];

/// Meaning of `key` here; `None`: nobody knows it.
pub(super) fn word(key: &str) -> Option<Word> {
    use Word::{Always, OfSection, Refused, Same, Switch, Translated, Whole};
    const ON: &[&str] = &["1", "true"];
    const OFF: &[&str] = &["0", "false"];
    const EITHER: &[&str] = &["0", "1", "true", "false"];
    Some(match key {
        "rw" | "readwrite" => Same("--rw"),
        "bs" | "blocksize" => Same("--bs"),
        "iodepth" => Same("--iodepth"),
        "numjobs" => Same("--numjobs"),
        "rwmixread" => Same("--rwmixread"),
        "rwmixwrite" => Translated(|value| {
            let writes = value.parse::<u8>().ok().filter(|percent| *percent <= 100);
            let writes = writes.ok_or("a percentage is 0 to 100")?;
            Ok(vec![format!("--rwmixread={}", 100 - writes)])
        }),
        "size" => Same("--size"),
        "io_size" | "time_based" | "hipri" | "sqthread_poll" => OfSection,
        "stonewall" | "wait_for_previous" | "wait_for" | "new_group" => OfSection,
        "name" | "description" => OfSection,
        "group_reporting" => Switch("--group_reporting"),
        "number_ios" => Same("--number_ios"),
        "runtime" | "timeout" => Same("--runtime"),
        "ramp_time" => Same("--ramp_time"),
        "rate_iops" => Same("--rate_iops"),
        "rate_process" => Same("--rate_process"),
        "filename" => Translated(|value| {
            let devices = names(value).into_iter().map(|name| match name {
                // A file of this folder, as fio has it.
                name if !name.contains('/') && !name.contains("\\:") => {
                    format!("--device=./{name}")
                }
                // What fio sends commands to is another file of the same namespace.
                name => match name.strip_prefix("/dev/").and_then(block_device_of) {
                    Some(block) => format!("--device=/dev/{block}"),
                    None => format!("--device={}", name.replace("\\:", ":")),
                },
            });
            Ok(devices.collect())
        }),
        "ioengine" => Translated(engine),
        "cmd_type" => Always(&["nvme"], "the commands of io_uring_cmd are NVMe's"),
        "nonvectored" => Always(EITHER, "0 or 1; a request has one buffer"),
        "direct" => Always(
            ON,
            "every I/O is direct: the page cache is not what is measured",
        ),
        "buffered" => Always(
            OFF,
            "every I/O is direct: the page cache is not what is measured",
        ),
        "sqthread_poll_cpu" => Same("--sqthread_poll_cpu"),
        "fixedbufs" => Switch("--fixedbufs"),
        "registerfiles" => Switch("--registerfiles"),
        "cpus_allowed" => Whole("--cpus_allowed"),
        "cpus_allowed_policy" => Always(&["split"], "each job has a CPU of its own: split"),
        "ioscheduler" => Same("--scheduler"),
        "randseed" => Same("--seed"),
        "randrepeat" | "allrandrepeat" => OfSection,
        "random_generator" => Always(
            &["tausworthe", "tausworthe64"],
            "blocks are drawn one by one, some of them twice; an order of all of them is not here",
        ),
        "blockalign" | "ba" => Same("--blockalign"),
        "io_submit_mode" => Always(
            &["inline", "offload"],
            "inline or offload; latency counts from the arrival, as by offload",
        ),
        "latency_target" | "latency_window" | "latency_percentile" | "latency_run" => Refused(
            "the depth for a latency is not sought: --iodepth 1,2,4,8,16 has a row for each",
        ),
        "norandommap" => Always(
            ON,
            "there is no map of blocks: some are drawn twice, as with norandommap=1",
        ),
        "verify" => Same("--verify"),
        "do_verify" => Always(ON, "verify=none does without"),
        "startdelay" => Same("--startdelay"),
        "thread" | "threads" => Translated(|value| match value {
            "0" | "false" => Ok(vec!["--process".into()]),
            _ if ON.contains(&value) => Ok(Vec::new()),
            _ => Err("0 or 1".into()),
        }),
        "exitall" => Switch("--exitall"),
        "gtod_reduce" | "disable_lat" | "disable_slat" | "disable_clat" => {
            Always(EITHER, "0 or 1; latency is always there")
        }
        "allow_file_create" | "create_on_open" | "create_serialize" | "unlink" => {
            Always(EITHER, "0 or 1; files are not made")
        }
        "fallocate" => Always(
            &["none", "native", "posix", "keep", "truncate", "0", "1"],
            "files are not made",
        ),
        "invalidate" | "clat_percentiles" | "allow_mounted_write" => Always(EITHER, "0 or 1"),
        "loops" | "filesize" => OfSection,
        "nrfiles" | "nr_files" => Always(&["1"], "filename=a:b names several"),
        "thinktime" => Same("--thinktime"),
        "thinktime_blocks" => Same("--thinktime_blocks"),
        "fsync" => Same("--fsync"),
        "fdatasync" => Same("--fdatasync"),
        "end_fsync" => Switch("--end_fsync"),
        "bssplit" => Translated(|value| drawn("--bssplit", value)),
        "bsrange" => Translated(|value| drawn("--bsrange", value)),
        "random_distribution" => Whole("--random_distribution"),
        "offset" => Same("--offset"),
        "percentile_list" => Whole("--percentile_list"),
        "lat_percentiles" => Always(
            ON,
            "latency counts from the arrival, as fio's total latency",
        ),
        "write_lat_log" => Whole("--write_lat_log"),
        "write_bw_log" => Whole("--write_bw_log"),
        "write_iops_log" => Whole("--write_iops_log"),
        "log_avg_msec" => Same("--log_avg_msec"),
        "log_offset" => Switch("--log_offset"),
        "directory" => OfSection,
        "iodepth_batch" | "iodepth_batch_submit" => Same("--iodepth_batch_submit"),
        "iodepth_batch_complete" | "iodepth_batch_complete_min" => {
            Same("--iodepth_batch_complete_min")
        }
        "rate" => OfSection,
        "rate_min" | "ratemin" => Refused("a run that falls behind its rate says so"),
        "steadystate" | "ss" => Whole("--steadystate"),
        "steadystate_duration" | "ss_dur" => Same("--steadystate_duration"),
        "steadystate_ramp_time" | "ss_ramp" => Same("--steadystate_ramp_time"),
        "steadystate_check_interval" | "ss_interval" => Same("--steadystate_check_interval"),
        "status_interval" => Same("--status-interval"),
        "minimal" => Switch("--output-format=terse"),
        "eta" => Translated(|value| match value {
            "never" => Ok(vec!["--quiet".into()]),
            "auto" | "always" => Ok(Vec::new()),
            _ => Err("always, never or auto".into()),
        }),
        "readonly" => Always(ON, "no device is written without --allow-write"),
        "zonemode" => Refused("zones are not here"),
        _ => return None,
    })
}

/// The names of a value of `filename`, which colons part. A backslash keeps a colon in a name: that of a PCI
/// address.
pub(super) fn names(value: &str) -> Vec<String> {
    let kept = value.replace("\\:", "\0");
    kept.split(':')
        .map(|name| name.replace('\0', "\\:"))
        .collect()
}

/// Sizes that each I/O draws, the same of reads and writes.
fn drawn(flag: &str, value: &str) -> Result<Vec<String>, String> {
    match value.contains(',') {
        true => Err("reads and writes have the same sizes: give one list".into()),
        false => Ok(vec![format!("{flag}={value}")]),
    }
}

/// The engine of fio's name.
fn engine(value: &str) -> Result<Vec<String>, String> {
    match value {
        "io_uring" | "io_uring_cmd" | "libaio" | "psync" | "nvme" => {
            Ok(vec![format!("--engine={value}")])
        }
        "pvsync2" | "pvsync" | "vsync" | "sync" => Ok(vec!["--engine=psync".into()]),
        _ => Err(
            "engines are io_uring, io_uring_cmd, libaio, psync, and nvme, which is joulio's own driver".into(),
        ),
    }
}
