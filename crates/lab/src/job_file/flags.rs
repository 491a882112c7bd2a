//! Translation of a section's options to joulio's flags.

use super::checks::check;
use super::error::JobFileError;
use super::flag::Flag;
use super::sections::{Given, Section, count, find, variable};
use super::typed_flags::TypedFlags;
use super::words::{OWN_KINDS, Word, is_switch, names, word};
use joulio_workload::parse_size;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Seek, SeekFrom};
use std::path::Path;

/// Largest number of files that are named for a section; more jobs are refused elsewhere.
const MAX_FILES: usize = 1_000;

/// Options whose values are numbers with fio's suffixes.
const SCALED: [&str; 15] = [
    "size",
    "io_size",
    "filesize",
    "offset",
    "bs",
    "blocksize",
    "bssplit",
    "bsrange",
    "blocksize_range",
    "blockalign",
    "ba",
    "number_ios",
    "loops",
    "rate",
    "rate_iops",
];

impl Given {
    fn flag(&self, argument: String) -> Flag {
        Flag {
            line: self.line,
            option: self.text(),
            argument,
        }
    }
}

/// Returns the flags of `section`; if an option is given several times, the last one counts.
pub(super) fn flags(section: &Section, typed: &TypedFlags) -> Result<Vec<Flag>, JobFileError> {
    let last = |given: &&Given| {
        let same = section.find(&given.key);
        same.is_some_and(|same| std::ptr::eq(same, *given))
    };
    // A typed flag replaces the option, whatever the option's value is.
    let counts = |given: &&Given| !replaced_by(&given.key).is_some_and(|flag| typed.has(flag));
    let options: Vec<&Given> = section.options.iter().filter(last).collect();
    let mut flags = Vec::new();
    for given in options.iter().filter(|given| counts(given)) {
        let mut add = |argument: String| flags.push(given.flag(argument));
        let value = given.value.as_deref();
        let known = word(&given.key);
        if let Some((_, name, _)) = value.and_then(variable).filter(|_| known.is_some()) {
            return Err(given.refused(&format!("{name} is not set in the environment")));
        }
        if is_switch(&given.key) && !given.is_on() && !given.is_off() {
            return Err(given.refused("0 or 1"));
        }
        if SCALED.contains(&given.key.as_str()) {
            given.check_suffixes()?;
        }
        match known {
            Some(Word::Same(flag)) => add(format!("{flag}={}", only_value(given)?)),
            Some(Word::Count(flag)) => {
                let count = count(only_value(given)?).map_err(|why| given.refused(&why))?;
                add(format!("{flag}={count}"));
            }
            Some(Word::Whole(flag)) => {
                let value = value.ok_or_else(|| given.refused("write a value after it"))?;
                add(format!("{flag}={value}"));
            }
            Some(Word::Switch(flag)) if given.is_on() => add(flag.into()),
            Some(Word::Switch(_)) => {}
            Some(Word::Translated(translate)) => {
                let value = value.unwrap_or("1");
                let value = match given.key.as_str() {
                    "filename" => below(&options, value),
                    _ => value.into(),
                };
                let translated = translate(&value).map_err(|why| given.refused(&why))?;
                translated.into_iter().for_each(add);
            }
            Some(Word::Always(values, why)) => {
                if !values.contains(&value.unwrap_or("1")) {
                    return Err(given.refused(why));
                }
            }
            Some(Word::Refused(why)) => return Err(given.refused(why)),
            Some(Word::OfSection) => {}
            None => {
                return Err(JobFileError::Unknown {
                    line: given.line,
                    key: given.key.clone(),
                });
            }
        }
    }
    check(&options, typed)?;
    if !typed.has("--size") {
        flags.extend(file_size(&options)?);
    }
    if !typed.has("--number_ios") {
        flags.extend(work(&options)?);
    }
    if !typed.has("--rate_iops") {
        flags.extend(rate(&options)?);
    }
    if !typed.has("--seed") {
        flags.extend(seed(&options));
    }
    flags.extend(completion(&options));
    Ok(last_of_each(flags))
}

/// Returns the value of `given`, which is the same for reads, writes and trims.
fn only_value(given: &Given) -> Result<&str, JobFileError> {
    let value = given.value.as_deref();
    let value = value.ok_or_else(|| given.refused("write a value after it"))?;
    let one = of_all_directions(value);
    one.ok_or_else(|| given.refused("only one value for all directions is supported"))
}

/// Returns the value of `value` for reads, writes and trims; `None` if they differ, or one has further parts.
fn of_all_directions(value: &str) -> Option<&str> {
    let mut values = value.split(',').map(str::trim);
    let first = values.next()?;
    let one = !first.contains(':') && values.all(|other| other == first);
    one.then_some(first)
}

/// Returns the flag that replaces the option `key` if it is typed, whatever its value.
fn replaced_by(key: &str) -> Option<&'static str> {
    match key {
        "filename" => Some("--device"),
        "ioengine" => Some("--engine"),
        "completion" => Some("--completion"),
        "direct" | "buffered" => Some("--direct"),
        "bssplit" | "bsrange" | "blocksize_range" => Some("--bs"),
        "cpumask" => Some("--cpus_allowed"),
        "thread" | "threads" => Some("--process"),
        "rate" => Some("--rate_iops"),
        "io_size" | "loops" => Some("--number_ios"),
        _ => match word(key) {
            Some(Word::Same(flag) | Word::Count(flag) | Word::Whole(flag)) => Some(flag),
            _ => None,
        },
    }
}

/// Removes those of `flags` that a later one replaces, such as the same option under another name.
fn last_of_each(flags: Vec<Flag>) -> Vec<Flag> {
    let mut kept: Vec<Flag> = Vec::new();
    for flag in flags {
        if flag.name() != "--device" {
            kept.retain(|other| other.name() != flag.name());
        }
        kept.push(flag);
    }
    kept
}

/// Returns fio's defaults where they differ from ours, as flags at the line of the section; or an error if the section
/// lacks something that has no default here.
pub(super) fn defaults(section: &Section, typed: &TypedFlags) -> Result<Vec<Flag>, JobFileError> {
    let has = |keys: &[&str]| keys.iter().any(|key| section.find(key).is_some());
    let refused = |problem: &str| {
        Err(JobFileError::Section {
            line: section.line,
            name: section.name.clone(),
            problem: problem.to_owned(),
        })
    };
    let mut arguments = Vec::new();
    if !has(&["filename"]) && !typed.has("--device") {
        let files = own_files(section);
        if let Some(missing) = files.iter().find(|file| !Path::new(file).exists()) {
            return refused(&format!(
                "names no device, and fio's own file {missing} is not there: write filename, or give --device"
            ));
        }
        arguments.extend(files.iter().map(|file| format!("--device={file}")));
    }
    let amounts = [
        "size",
        "io_size",
        "filesize",
        "number_ios",
        "runtime",
        "timeout",
    ];
    if !has(&amounts) && !typed.has("--runtime") && !typed.has("--number_ios") {
        match whole_file(section)? {
            Some(ios) => arguments.push(format!("--number_ios={ios}")),
            None => return refused("has no length: write size, number_ios or runtime"),
        }
    }
    if !has(&["rw", "readwrite"]) {
        arguments.push("--rw=read".into());
    }
    if !has(&["ramp_time"]) {
        arguments.push("--ramp_time=0".into());
    }
    let name = section
        .find("filename")
        .and_then(|given| given.value.as_deref());
    let ours = |value: &str| {
        let names = names(value);
        let kind = names.first().and_then(|first| first.split_once("\\:"));
        kind.is_some_and(|(kind, _)| OWN_KINDS.contains(&kind))
    };
    if !has(&["ioengine"]) && !name.is_some_and(ours) && !typed.has("--device") {
        arguments.push("--engine=psync".into());
    }
    let flags = arguments.into_iter().map(|argument| Flag {
        line: section.line,
        option: format!("[{}]", section.name),
        argument,
    });
    Ok(flags.collect())
}

/// Returns the files that fio creates if none is named, one for each job: `./NAME.0.0`.
fn own_files(section: &Section) -> Vec<String> {
    let value = |key: &str| section.find(key).and_then(|given| given.value.as_deref());
    let folder = value("directory").unwrap_or(".").trim_end_matches('/');
    let name = value("name").unwrap_or(&section.name);
    let jobs = value("numjobs").and_then(|jobs| jobs.parse().ok());
    let files = (0..jobs.unwrap_or(1)).take(MAX_FILES);
    files
        .map(|job| format!("{folder}/{name}.{job}.0"))
        .collect()
}

/// Returns the area for `filesize` if `size` is larger or missing: a file keeps its length here, and the area is the
/// part that is used.
fn file_size(options: &[&Given]) -> Result<Option<Flag>, JobFileError> {
    let Some(given) = find(options, "filesize") else {
        return Ok(None);
    };
    let bytes = given.bytes()?;
    let size = find(options, "size").map(Given::bytes).transpose()?;
    let shorter = size.is_none_or(|size| bytes < size);
    Ok(shorter.then(|| given.flag(format!("--size={bytes}"))))
}

/// Returns the amount of work of a section as fio computes it: `io_size` or `size` bytes, multiplied by `loops`, unless
/// it is `time_based` or has `number_ios`.
fn work(options: &[&Given]) -> Result<Option<Flag>, JobFileError> {
    if find(options, "time_based").is_some_and(Given::is_on) {
        return Ok(None);
    }
    let loops = find(options, "loops").map_or(Ok(1), Given::count)?;
    if let Some(given) = find(options, "number_ios") {
        return match loops {
            1 => Ok(None),
            _ => Err(given.refused("loops need io_size: write io_size instead")),
        };
    }
    let sizes = ["size", "filesize"]
        .iter()
        .filter_map(|key| find(options, key));
    let sizes = sizes.map(|given| Ok((given.bytes()?, given)));
    let sizes: Vec<_> = sizes.collect::<Result<_, JobFileError>>()?;
    let shortest = sizes.into_iter().min_by_key(|(bytes, _)| *bytes);
    let requested = match find(options, "io_size") {
        Some(given) => Some((given.bytes()?, given)),
        None => shortest,
    };
    let Some((whole, given)) = requested else {
        return Ok(None);
    };
    let Some(bs) = block_size(options)? else {
        // A job file has one size or random sizes; a list of sizes was typed.
        let bs = find(options, "bs").and_then(|bs| bs.value.as_deref());
        let several = |bs: &str| bs.contains(',') || (bs.contains(':') && !bs.contains('/'));
        let why = match bs.is_some_and(several) {
            true => {
                "--bs has several sizes, each of which would be another number of I/Os: give --number_ios, or one size"
            }
            false => "the block size is random: give number_ios, or time_based",
        };
        return Err(given.refused(why));
    };
    if bs == 0 || whole < bs {
        return Err(given.refused("less than one block"));
    }
    let ios = (whole / bs).saturating_mul(loops);
    Ok(Some(given.flag(format!("--number_ios={ios}"))))
}

/// Returns the length in bytes of the only file or block device in `options`, if it exists.
pub(super) fn file_length(options: &[&Given]) -> Option<u64> {
    let name = options.iter().rev().find(|given| given.key == "filename")?;
    let names = names(&below(options, name.value.as_deref()?));
    let [name] = names.as_slice() else {
        return None;
    };
    // Seeking to the end also gives the length of a block device.
    File::open(name).ok()?.seek(SeekFrom::End(0)).ok()
}

/// Returns the number of I/Os of a section without an amount of work that names one existing file: the blocks of the
/// file from `offset` on, multiplied by `loops`.
fn whole_file(section: &Section) -> Result<Option<u64>, JobFileError> {
    let options: Vec<&Given> = section.options.iter().collect();
    let Some(bytes) = file_length(&options) else {
        return Ok(None);
    };
    let loops = section.find("loops").map_or(Ok(1), Given::count)?;
    let offset = section.find("offset").map_or(Ok(0), Given::bytes)?;
    let bytes = bytes.saturating_sub(offset);
    let blocks = block_size(&options)?.and_then(|bs| bytes.checked_div(bs));
    Ok(blocks
        .filter(|blocks| *blocks > 0)
        .map(|blocks| blocks.saturating_mul(loops)))
}

/// Converts `rate`, which fio gives in bytes, to I/Os per second.
fn rate(options: &[&Given]) -> Result<Option<Flag>, JobFileError> {
    let Some(given) = find(options, "rate") else {
        return Ok(None);
    };
    let bytes =
        parse_size(only_value(given)?).map_err(|error| given.refused(&error.to_string()))?;
    let bs = block_size(options)?.filter(|bs| (1..=bytes).contains(bs));
    let bs = bs.ok_or_else(|| {
        given.refused(
            "a rate in bytes needs one block size and at least one I/O per second: write rate_iops",
        )
    })?;
    let below = bytes / bs;
    let nearest = below + u64::from(bytes % bs > bs / 2);
    // A rate is a whole number of I/Os; one that is more than 1 % off is refused.
    let rounded = u128::from(nearest) * u128::from(bs);
    if rounded.abs_diff(bytes.into()) * 100 > bytes.into() {
        let (exact, above) = (bytes as f64 / bs as f64, below + 1);
        return Err(given.refused(&format!(
            "{exact:.2} I/Os of {bs} bytes a second: write rate_iops={below} or rate_iops={above}, whole numbers only, in its place"
        )));
    }
    Ok(Some(given.flag(format!("--rate_iops={nearest}"))))
}

/// Returns the bytes of an I/O; `None` if sizes are random.
fn block_size(options: &[&Given]) -> Result<Option<u64>, JobFileError> {
    if find(options, "bssplit").is_some() {
        return Ok(None);
    }
    let range = ["bsrange", "blocksize_range"];
    if let Some(range) = range.iter().find_map(|key| find(options, key)) {
        let ends = range
            .value
            .as_deref()
            .and_then(|value| value.split_once('-'));
        return match ends {
            Some((least, most)) if least == most => parse_size(least)
                .map(Some)
                .map_err(|error| range.refused(&error.to_string())),
            _ => Ok(None),
        };
    }
    // The last of the two names counts.
    let names = ["bs", "blocksize"];
    let mut named = options
        .iter()
        .rev()
        .filter(|given| names.contains(&given.key.as_str()));
    let Some(given) = named.next() else {
        return Ok(Some(4096));
    };
    let value = given.value.as_deref().unwrap_or_default();
    // A list can only be given on the command line.
    let one = of_all_directions(value).filter(|value| !value.contains(['/', '-']));
    let bytes =
        one.map(|value| parse_size(value).map_err(|error| given.refused(&error.to_string())));
    bytes.transpose()
}

/// Returns the names in `filename` below the section's `directory`, except absolute paths and devices.
fn below(options: &[&Given], value: &str) -> String {
    let directory = find(options, "directory").and_then(|given| given.value.as_deref());
    let Some(directory) = directory else {
        return value.into();
    };
    let within = |name: &String| !name.starts_with('/') && !name.contains("\\:");
    let names = names(value).into_iter().map(|name| match within(&name) {
        true => format!("{}/{name}", directory.trim_end_matches('/')),
        false => name,
    });
    names.collect::<Vec<_>>().join(":")
}

/// Draws a seed from the system if `randrepeat=0` requests another sequence each time and `randseed` is not given.
fn seed(options: &[&Given]) -> Option<Flag> {
    let named = find(options, "randseed").is_some();
    let mut drawn = None;
    for given in ["randrepeat", "allrandrepeat"].map(|key| find(options, key)) {
        let Some(given) = given.filter(|given| !given.is_on()) else {
            continue;
        };
        if drawn.is_none() && !named {
            let seed = RandomState::new().build_hasher().finish();
            drawn = Some(given.flag(format!("--seed={seed}")));
        }
    }
    drawn
}

/// Returns the completion mode for `hipri` and `sqthread_poll`.
fn completion(options: &[&Given]) -> Option<Flag> {
    if find(options, "completion").is_some() {
        return None;
    }
    let on = |key: &str| find(options, key).filter(|given| given.is_on());
    let (hipri, thread) = (on("hipri"), on("sqthread_poll"));
    let mode = match (hipri, thread) {
        (None, None) => return None,
        (Some(_), None) => "poll",
        (None, Some(_)) => "sqpoll",
        (Some(_), Some(_)) => "sqpoll+poll",
    };
    let given = thread.or(hipri)?;
    Some(given.flag(format!("--completion={mode}")))
}
