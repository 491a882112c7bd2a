//! fio's options, and what each of them is here.

use joulio_kernel_io::block_device_of;
use joulio_model::DeviceProfile;
use std::path::Path;

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

/// Meaning of `key` here; `None`: nobody knows it.
pub(super) fn word(key: &str) -> Option<Word> {
    use Word::{Always, OfSection, Refused, Same, Switch, Translated, Whole};
    const ON: &[&str] = &["1", "true"];
    const OFF: &[&str] = &["0", "false"];
    const EITHER: &[&str] = &["0", "1", "true", "false"];
    const FILLED: &str = "buffers are filled once, with random bytes: verify=crc32c has each write say where and when it was";
    Some(match key {
        "rw" | "readwrite" => Same("--rw"),
        "percentage_random" => Always(
            &["100"],
            "all or none are random: sections beside each other, one of rw=randread and one of rw=read, have parts",
        ),
        "bs" | "blocksize" => Same("--bs"),
        "bs_unaligned" | "blocksize_unaligned" | "bs_is_seq_rand" => Always(
            OFF,
            "I/Os begin at multiples of their sizes, which reads, writes and random ones share",
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
        "number_ios" => Same("--number_ios"),
        "runtime" | "timeout" => Same("--runtime"),
        "ramp_time" => Same("--ramp_time"),
        "rate_iops" => Same("--rate_iops"),
        "rate_process" => Same("--rate_process"),
        "rate_cycle" => Refused(
            "I/Os arrive by the clock, and no rate is a mean: --bursts 16:1ms has several at once",
        ),
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
        // What fio has none of.
        "completion" => Translated(completion),
        "slo" => Whole("--slo"),
        "latency_budget" => Whole("--latency-budget"),
        "objective" => Whole("--objective"),
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
        "cpus_allowed_policy" => Translated(checked),
        "cpumask" => Translated(cpus_of_mask),
        "numa_cpu_nodes" => Same("--numa"),
        "numa_mem_policy" => Always(
            &["default", "local"],
            "numa_cpu_nodes=N binds the jobs and their memory to a node",
        ),
        "nice" => Refused("nice -n N joulio bench has it for all jobs"),
        "prio" | "prioclass" => Refused("ionice -c CLASS -n N joulio bench has it for all jobs"),
        "mem" | "iomem" => Always(
            &["malloc", "mmap", "shm"],
            "buffers are malloc's, or those that devices read and write",
        ),
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
        "max_latency" => {
            Refused("--io_timeout ends an I/O that takes too long, and the run goes on")
        }
        "softrandommap" => Always(EITHER, "0 or 1; there is no map of blocks"),
        "norandommap" => Always(
            ON,
            "there is no map of blocks: some are drawn twice, as with norandommap=1",
        ),
        "verify" => Same("--verify"),
        "do_verify" => Always(ON, "verify=none does without"),
        "verify_fatal" => Always(
            OFF,
            "every block is read back, and the wrong ones are counted",
        ),
        "verify_backlog" => {
            Refused("what was written is read back after the run, by verify=crc32c")
        }
        "verify_pattern" | "buffer_pattern" => Refused(FILLED),
        "zero_buffers" | "refill_buffers" | "scramble_buffers" => Always(OFF, FILLED),
        "buffer_compress_percentage" | "dedupe_percentage" => Always(
            &["0"],
            "buffers have random bytes, which nothing compresses",
        ),
        "continue_on_error" => Always(
            &["all", "io", "read", "write", "verify"],
            "an I/O that failed is counted, and the run goes on",
        ),
        "startdelay" => Same("--startdelay"),
        "thread" | "threads" => Translated(|value| match value {
            "0" | "false" => Ok(vec!["--process".into()]),
            _ if ON.contains(&value) => Ok(Vec::new()),
            _ => Err("0 or 1".into()),
        }),
        "exitall" => Switch("--exitall"),
        "clocksource" => Always(&["clock_gettime"], "times are those of clock_gettime"),
        "gtod_reduce" | "disable_lat" | "disable_slat" | "disable_clat" => {
            Always(EITHER, "0 or 1; latency is always there")
        }
        "disable_bw_measurement" => Always(EITHER, "0 or 1; bandwidth is always there"),
        "allow_file_create" | "create_on_open" | "create_serialize" | "unlink" | "overwrite" => {
            Always(EITHER, "0 or 1; files are not made")
        }
        "create_only" => Always(OFF, "files are not made: fallocate or dd makes them"),
        "pre_read" => Always(
            OFF,
            "every I/O is direct: the page cache is not what is measured",
        ),
        "fadvise_hint" => Always(
            &["0", "1", "none", "random", "sequential"],
            "every I/O is direct, and takes no advice",
        ),
        "fallocate" => Always(
            &["none", "native", "posix", "keep", "truncate", "0", "1"],
            "files are not made",
        ),
        "invalidate" | "clat_percentiles" | "allow_mounted_write" => Always(EITHER, "0 or 1"),
        "loops" | "filesize" => OfSection,
        "nrfiles" | "nr_files" => Always(&["1"], "filename=a:b names several"),
        "thinktime" => Same("--thinktime"),
        "thinktime_blocks" => Same("--thinktime_blocks"),
        "thinktime_spin" => {
            Refused("--completion poll spins through the stall, --completion interrupt sleeps")
        }
        "sync" => Always(
            &["0", "none", "false"],
            "no write waits until it is durable: fsync=1 has a flush after each",
        ),
        "fsync" => Same("--fsync"),
        "fdatasync" => Same("--fdatasync"),
        "end_fsync" => Switch("--end_fsync"),
        "bssplit" => Translated(|value| drawn("--bssplit", value)),
        "bsrange" | "blocksize_range" => Translated(|value| drawn("--bsrange", value)),
        "random_distribution" => Whole("--random_distribution"),
        "offset" => Same("--offset"),
        "offset_increment" => Refused(
            "jobs share an area: sections beside each other, each with its offset, have their own",
        ),
        "percentile_list" => Whole("--percentile_list"),
        "unified_rw_reporting" => Always(
            &["none", "mixed", "both", "0", "1", "2"],
            "reads and writes are shown together, and apart below",
        ),
        "slat_percentiles" => Always(OFF, "latency counts from the arrival: submission is in it"),
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
        "log_unix_epoch" => Always(OFF, "times of a log count from the run's begin"),
        "write_hist_log" | "log_hist_msec" => {
            Refused("--output-format json+ has the histogram of the whole run")
        }
        "read_iolog" => Refused("joulio advise --read_iolog says what to choose for it"),
        "write_iolog" => Refused("write_lat_log with log_offset=1 has every I/O"),
        "directory" => OfSection,
        "iodepth_batch" | "iodepth_batch_submit" => Same("--iodepth_batch_submit"),
        "iodepth_batch_complete" | "iodepth_batch_complete_min" => {
            Same("--iodepth_batch_complete_min")
        }
        "iodepth_batch_complete_max" => Translated(checked),
        "iodepth_low" => Refused(
            "the depth is filled again at once: iodepth_batch_complete_min=N waits for several",
        ),
        "rate" => OfSection,
        "rate_min" | "ratemin" => Refused("a run that falls behind its rate says so"),
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
        "readonly" => Always(ON, "no device is written without --allow-write"),
        "zonemode" => Always(&["none"], "zones are not here"),
        "zonesize" | "zonerange" | "zoneskip" => Refused("zones are not here"),
        _ => return None,
    })
}

/// True if the option `key` is on or off, and says no more.
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

/// The names of a value of `filename`, which colons part. A backslash keeps a colon in a name, and so does a name that
/// begins as one of a device of joulio's own driver. One of a profile, and `emulated`, is an emulated device's, in full.
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

/// The emulated device that a profile's name or `emulated` alone stands for, where no file has that name.
fn emulated(name: String) -> String {
    let (bare, options) = name.split_at(name.find(',').unwrap_or(name.len()));
    match bare {
        _ if Path::new(&name).exists() => name,
        "emulated" => format!("emulated\\:{options}"),
        _ if DeviceProfile::is_builtin(bare) => format!("emulated\\:{name}"),
        _ => name,
    }
}

/// The completion mode of a section.
fn completion(value: &str) -> Result<Vec<String>, String> {
    match value.contains(',') {
        true => Err(
            "a section has one completion mode: a list is the command line's, --completion poll,adaptive".into(),
        ),
        false => Ok(vec![format!("--completion={value}")]),
    }
}

/// Kinds of devices of joulio's own driver, before the colon of their names.
pub(super) const OWN_KINDS: [&str; 3] = ["emulated", "pcie", "vfio-user"];

/// True if `name`, in which a kept colon is NUL, is the beginning of a device's name: `emulated`, or `pcie` and what is
/// before the function of its address.
fn goes_on(name: &str) -> bool {
    let of_address = name.strip_prefix("pcie\0");
    OWN_KINDS.contains(&name)
        || of_address.is_some_and(|part| !part.contains('.') && part.matches('\0').count() < 2)
}

/// No flag: what the option says is checked to hold, beside the others of its section.
fn checked(_: &str) -> Result<Vec<String>, String> {
    Ok(Vec::new())
}

/// The CPUs of a mask, whose lowest bit is CPU 0.
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
