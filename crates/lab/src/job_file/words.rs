//! fio's options, and their meaning here.

use joulio_kernel_io::block_device_of;
use joulio_model::DeviceProfile;
use std::path::Path;

/// Meaning of an option.
pub(super) enum Word {
    /// A flag of the same meaning with the same value.
    Same(&'static str),
    /// A flag of the same meaning whose value is a count; k is 1024 in fio and 1000 in the flag's value.
    Count(&'static str),
    /// A flag of the same meaning whose value may contain commas and colons.
    Whole(&'static str),
    /// A flag without a value, given if the option is on.
    Switch(&'static str),
    /// Flags that depend on the option's value.
    Translated(fn(&str) -> Result<Vec<String>, String>),
    /// Values that describe what is always the case here; others are refused, with the reason.
    Always(&'static [&'static str], &'static str),
    /// An option that concerns the section or several options together, and is handled there.
    OfSection,
    /// An unsupported option, with advice on what replaces it.
    Refused(&'static str),
}

/// Returns the meaning of the option `key`; `None` if it is unknown.
pub(super) fn word(key: &str) -> Option<Word> {
    use Word::{Always, Count, OfSection, Refused, Same, Switch, Translated, Whole};
    const ON: &[&str] = &["1", "true"];
    const OFF: &[&str] = &["0", "false"];
    const EITHER: &[&str] = &["0", "1", "true", "false"];
    const FILLED: &str = "buffers are filled once with random bytes; use verify=crc32c for data that changes with each write";
    Some(match key {
        "rw" | "readwrite" => Same("--rw"),
        "percentage_random" => Always(
            &["100"],
            "all I/Os are random or none: use two sections, rw=randread and rw=read, that run at the same time",
        ),
        "bs" | "blocksize" => Same("--bs"),
        "bs_unaligned" | "blocksize_unaligned" | "bs_is_seq_rand" => Always(
            OFF,
            "reads, writes and random I/Os share one alignment, the block size",
        ),
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
        "number_ios" => Count("--number_ios"),
        "runtime" | "timeout" => Same("--runtime"),
        "ramp_time" => Same("--ramp_time"),
        "rate_iops" => Count("--rate_iops"),
        "rate_process" => Same("--rate_process"),
        "rate_cycle" => Refused(
            "I/Os arrive at fixed or random times, not in cycles: use --bursts 16:1ms for several at once",
        ),
        "filename" => Translated(|value| {
            let devices = names(value).into_iter().map(|name| match name {
                // In fio, a plain name is a file in the current directory.
                name if !name.contains('/') && !name.contains("\\:") => {
                    format!("--device=./{name}")
                }
                // fio sends commands to the namespace's character device; here the block device is named.
                name => match name.strip_prefix("/dev/").and_then(block_device_of) {
                    Some(block) => format!("--device=/dev/{block}"),
                    None => format!("--device={}", name.replace("\\:", ":")),
                },
            });
            Ok(devices.collect())
        }),
        "ioengine" => Translated(engine),
        // joulio's options that fio does not have.
        "completion" => Translated(completion),
        "slo" => Whole("--slo"),
        "latency_budget" => Whole("--latency-budget"),
        "objective" => Whole("--objective"),
        "cmd_type" => Always(&["nvme"], "io_uring_cmd sends NVMe commands"),
        "nonvectored" => Always(EITHER, "0 or 1; every request has one buffer"),
        "direct" => Always(ON, "every I/O is direct: the page cache is not measured"),
        "buffered" => Always(OFF, "every I/O is direct: the page cache is not measured"),
        "sqthread_poll_cpu" => Same("--sqthread_poll_cpu"),
        "fixedbufs" => Switch("--fixedbufs"),
        "registerfiles" => Switch("--registerfiles"),
        "cpus_allowed" => Whole("--cpus_allowed"),
        "cpus_allowed_policy" => Translated(checked),
        "cpumask" => Translated(cpus_of_mask),
        "numa_cpu_nodes" => Same("--numa"),
        "numa_mem_policy" => Always(
            &["default", "local"],
            "numa_cpu_nodes=N binds the jobs and their memory to a node",
        ),
        "nice" => Refused("use nice -n N joulio bench, for all jobs"),
        "prio" | "prioclass" => Refused("use ionice -c CLASS -n N joulio bench, for all jobs"),
        "mem" | "iomem" => Always(
            &["malloc", "mmap", "shm"],
            "buffers are of malloc, or of memory that the device can reach",
        ),
        "ioscheduler" => Same("--scheduler"),
        "randseed" => Same("--seed"),
        "randrepeat" | "allrandrepeat" => OfSection,
        "random_generator" => Always(
            &["tausworthe", "tausworthe64"],
            "each block is drawn independently, so that some come twice; a permutation (lfsr) is not supported",
        ),
        "blockalign" | "ba" => Same("--blockalign"),
        "io_submit_mode" => Always(
            &["inline", "offload"],
            "inline or offload; latency counts from the arrival, as with offload",
        ),
        "latency_target" | "latency_window" | "latency_percentile" | "latency_run" => {
            Refused("no search for a depth: use --iodepth 1,2,4,8,16, a row for each")
        }
        "max_latency" => {
            Refused("use --io_timeout: it aborts an I/O that takes too long, and the run continues")
        }
        "softrandommap" => Always(EITHER, "0 or 1; there is no map of blocks"),
        "norandommap" => Always(
            ON,
            "there is no map of blocks: some come twice, as with norandommap=1",
        ),
        "verify" => Same("--verify"),
        "do_verify" => Always(ON, "use verify=none instead"),
        "verify_fatal" => Always(OFF, "every block is read back, and wrong ones are counted"),
        "verify_backlog" => {
            Refused("use verify=crc32c: all that was written is read back after the run")
        }
        "verify_pattern" | "buffer_pattern" => Refused(FILLED),
        "zero_buffers" | "refill_buffers" | "scramble_buffers" => Always(OFF, FILLED),
        "buffer_compress_percentage" => Always(
            &["0"],
            "buffers have random bytes, which nothing compresses",
        ),
        "dedupe_percentage" => Refused(
            "a job writes the data of its buffers again and again; with verify=crc32c each write has other data",
        ),
        "continue_on_error" => Always(
            &["all", "io", "read", "write", "verify"],
            "failed I/Os are counted, and the run continues",
        ),
        "startdelay" => Same("--startdelay"),
        "thread" | "threads" => Translated(|value| match value {
            "0" | "false" => Ok(vec!["--process".into()]),
            _ if ON.contains(&value) => Ok(Vec::new()),
            _ => Err("0 or 1".into()),
        }),
        "exitall" => Switch("--exitall"),
        "clocksource" => Always(&["clock_gettime"], "times come from clock_gettime"),
        "gtod_reduce" | "disable_lat" | "disable_slat" | "disable_clat" => {
            Always(EITHER, "0 or 1; latency is always measured")
        }
        "disable_bw_measurement" => Always(EITHER, "0 or 1; bandwidth is always measured"),
        "allow_file_create" | "create_on_open" | "create_serialize" | "unlink" | "overwrite" => {
            Always(EITHER, "0 or 1; files are not created")
        }
        "create_only" => Always(OFF, "files are not created: use fallocate or dd"),
        "pre_read" => Always(OFF, "every I/O is direct: the page cache is not measured"),
        "fadvise_hint" => Always(
            &["0", "1", "none", "random", "sequential"],
            "every I/O is direct, so that advice has no effect",
        ),
        "fallocate" => Always(
            &["none", "native", "posix", "keep", "truncate", "0", "1"],
            "files are not created",
        ),
        "invalidate" | "clat_percentiles" | "allow_mounted_write" => Always(EITHER, "0 or 1"),
        "loops" | "filesize" => OfSection,
        "nrfiles" | "nr_files" => Always(&["1"], "use filename=a:b for several"),
        "thinktime" => Same("--thinktime"),
        "thinktime_blocks" => Same("--thinktime_blocks"),
        "thinktime_spin" => {
            Refused("--completion decides: poll spins during the pause, interrupt sleeps")
        }
        "sync" => Always(
            &["0", "none", "false"],
            "no write waits until it is durable: use fsync=1 for a flush after each",
        ),
        "fsync" => Same("--fsync"),
        "fdatasync" => Same("--fdatasync"),
        "end_fsync" => Switch("--end_fsync"),
        "bssplit" => Translated(|value| drawn("--bssplit", value)),
        "bsrange" | "blocksize_range" => Translated(|value| drawn("--bsrange", value)),
        "random_distribution" => Whole("--random_distribution"),
        "offset" => Same("--offset"),
        "offset_increment" => Refused("jobs share one area: use sections with an offset each"),
        "percentile_list" => Whole("--percentile_list"),
        "unified_rw_reporting" => Always(
            &["none", "mixed", "both", "0", "1", "2"],
            "reads and writes are shown together, and separately below",
        ),
        "slat_percentiles" => Always(
            OFF,
            "latency counts from the arrival and includes the submission",
        ),
        "lat_percentiles" => Always(
            ON,
            "latency counts from the arrival, as fio's total latency",
        ),
        "write_lat_log" => Whole("--write_lat_log"),
        "write_bw_log" => Whole("--write_bw_log"),
        "write_iops_log" => Whole("--write_iops_log"),
        "log_avg_msec" => Same("--log_avg_msec"),
        "log_offset" => Switch("--log_offset"),
        "per_job_logs" => Always(ON, "each job has a log of its own"),
        "log_unix_epoch" => Always(OFF, "times in a log count from the start of the run"),
        "write_hist_log" | "log_hist_msec" => {
            Refused("use --output-format json+: the histogram of the whole run")
        }
        "read_iolog" => Refused("joulio advise --read_iolog recommends a mode for it"),
        "write_iolog" => Refused("use write_lat_log with log_offset=1 for every I/O"),
        "directory" => OfSection,
        "iodepth_batch" | "iodepth_batch_submit" => Same("--iodepth_batch_submit"),
        "iodepth_batch_complete" | "iodepth_batch_complete_min" => {
            Same("--iodepth_batch_complete_min")
        }
        "iodepth_batch_complete_max" => Same("--iodepth_batch_complete_max"),
        "iodepth_low" => Refused(
            "the depth is refilled at once: use iodepth_batch_complete_min=N to wait for several",
        ),
        "rate" => OfSection,
        "rate_min" | "ratemin" => Refused("a run that falls behind its rate reports that"),
        "steadystate" | "ss" => Whole("--steadystate"),
        "steadystate_duration" | "ss_dur" => Same("--steadystate_duration"),
        "steadystate_ramp_time" | "ss_ramp" => Same("--steadystate_ramp_time"),
        "steadystate_check_interval" | "ss_interval" => Same("--steadystate_check_interval"),
        "status_interval" | "eta_newline" => Same("--status-interval"),
        "minimal" => Switch("--output-format=terse"),
        "eta" => Translated(|value| match value {
            "never" => Ok(vec!["--quiet".into()]),
            "auto" | "always" => Ok(Vec::new()),
            _ => Err("always, never or auto".into()),
        }),
        "readonly" => Always(ON, "nothing is written without --allow-write"),
        "zonemode" => Always(&["none"], "zones are not supported"),
        "zonesize" | "zonerange" | "zoneskip" => Refused("zones are not supported"),
        _ => return None,
    })
}

/// Returns true if the option `key` can only be on or off.
pub(super) fn is_switch(key: &str) -> bool {
    match word(key) {
        Some(Word::Switch(_)) => true,
        Some(Word::OfSection) => matches!(
            key,
            "time_based"
                | "hipri"
                | "sqthread_poll"
                | "stonewall"
                | "wait_for_previous"
                | "new_group"
                | "randrepeat"
                | "allrandrepeat"
        ),
        _ => false,
    }
}

/// Splits a value of `filename` at colons. A colon stays in a name after a backslash, and in names of joulio's own
/// driver. A profile's name, or `emulated`, becomes the full name of an emulated device.
pub(super) fn names(value: &str) -> Vec<String> {
    let kept = value.replace("\\:", "\0");
    let mut names: Vec<String> = Vec::new();
    for part in kept.split(':') {
        match names.last_mut().filter(|name| goes_on(name)) {
            Some(name) => {
                name.push('\0');
                name.push_str(part);
            }
            None => names.push(part.to_owned()),
        }
    }
    let escaped = names.into_iter().map(|name| name.replace('\0', "\\:"));
    escaped.map(emulated).collect()
}

/// Returns the full name of the emulated device for a profile's name or for `emulated`, unless a file has that name.
fn emulated(name: String) -> String {
    let (bare, options) = name.split_at(name.find(',').unwrap_or(name.len()));
    match bare {
        _ if Path::new(&name).exists() => name,
        "emulated" => format!("emulated\\:{options}"),
        _ if DeviceProfile::is_builtin(bare) => format!("emulated\\:{name}"),
        _ => name,
    }
}

/// Translates the completion mode of a section.
fn completion(value: &str) -> Result<Vec<String>, String> {
    match value.contains(',') {
        true => Err(
            "a section has one completion mode: a list is the command line's, --completion poll,adaptive".into(),
        ),
        false => Ok(vec![format!("--completion={value}")]),
    }
}

/// Schemes of devices for joulio's own driver, before the first colon of their names.
pub(super) const OWN_KINDS: [&str; 3] = ["emulated", "pcie", "vfio-user"];

/// Returns true if `name`, in which kept colons are NUL, is the beginning of a device's name: `emulated`, or `pcie`
/// with the part of an address before the function.
fn goes_on(name: &str) -> bool {
    let of_address = name.strip_prefix("pcie\0");
    OWN_KINDS.contains(&name)
        || of_address.is_some_and(|part| !part.contains('.') && part.matches('\0').count() < 2)
}

/// Returns no flag: the option is checked together with the others of its section.
fn checked(_: &str) -> Result<Vec<String>, String> {
    Ok(Vec::new())
}

/// Translates a CPU mask, whose lowest bit is CPU 0.
fn cpus_of_mask(value: &str) -> Result<Vec<String>, String> {
    let mask = match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    let mask = mask.ok().filter(|mask| *mask > 0);
    let mask = mask.ok_or("a mask of CPUs is a number, as 0x3 for CPUs 0 and 1")?;
    let cpus = (0..u64::BITS).filter(|cpu| mask >> cpu & 1 == 1);
    let cpus: Vec<_> = cpus.map(|cpu| cpu.to_string()).collect();
    Ok(vec![format!("--cpus_allowed={}", cpus.join(","))])
}

/// Translates random sizes, which have to be the same for reads and writes.
fn drawn(flag: &str, value: &str) -> Result<Vec<String>, String> {
    match value.contains(',') {
        true => Err("reads and writes have the same sizes: give one list".into()),
        false => Ok(vec![format!("{flag}={value}")]),
    }
}

/// Translates fio's name of an engine.
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
