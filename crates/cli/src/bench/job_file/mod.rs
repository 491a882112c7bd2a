//! fio's job files: sections of options, each a bench of its own.

mod words;

use self::words::{Word, names, word};
use super::args::BenchArgs;
use crate::failure::{Failure, usage_line};
use clap::Parser;
use joulio_workload::parse_size;
use std::ffi::OsString;
use std::path::Path;

/// A line of a job file, and what is wrong with it.
type Refusal = (usize, String);

/// A section of a job file.
#[derive(Debug, PartialEq)]
struct Section {
    name: String,
    line: usize,
    /// It begins after those before it.
    stonewall: bool,
    options: Vec<Given>,
}

/// An option as the file has it.
#[derive(Clone, Debug, PartialEq)]
struct Given {
    line: usize,
    key: String,
    value: Option<String>,
}

/// A bench of one section.
pub struct SectionBench {
    /// Name of the section.
    pub name: String,
    /// Flags of the section and of the command line, which come before the section's.
    pub args: BenchArgs,
}

/// A flag of a section, and the option that it comes from.
struct Flag {
    line: usize,
    option: String,
    argument: String,
}

#[derive(Parser)]
struct Bench {
    #[command(flatten)]
    args: BenchArgs,
}

/// The benches of the file at `path`: of the sections named `only`, or of all. `typed`: the arguments of
/// `joulio bench`, whose flags count for every section.
pub fn benches(
    path: &Path,
    only: &[String],
    typed: &[OsString],
) -> Result<Vec<SectionBench>, Failure> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::input(format!(
            "{file}: {error}: bench takes a job file of fio's, and flags begin with --"
        ))
    })?;
    let refused = |(line, why): Refusal| Failure::input(format!("{file}:{line}: {why}"));
    let mut sections = sections(&text).map_err(refused)?;
    if let Some(name) = only
        .iter()
        .find(|name| !sections.iter().any(|s| s.name == **name))
    {
        let names: Vec<_> = sections
            .iter()
            .map(|section| section.name.as_str())
            .collect();
        return Err(Failure::input(format!(
            "--section {name}: {file} has {}",
            names.join(", ")
        )));
    }
    if only.is_empty() {
        check_order(&sections).map_err(refused)?;
    } else {
        sections.retain(|section| only.contains(&section.name));
    }
    let typed = Typed::new(typed, path);
    let benches = sections.iter().map(|section| {
        let mut flags = flags(section).map_err(refused)?;
        flags.extend(defaults(section, &typed).map_err(refused)?);
        let args = typed.parse(flags).map_err(refused)?;
        let name = section.name.clone();
        Ok(SectionBench { name, args })
    });
    benches.collect()
}

/// Sections of `text`, each with the options of the `[global]` ones before it; or a line, and what is wrong
/// there.
fn sections(text: &str) -> Result<Vec<Section>, Refusal> {
    let mut global: Vec<Given> = Vec::new();
    let mut sections: Vec<Section> = Vec::new();
    let mut in_global = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').map(str::trim);
            let name = name.filter(|name| !name.is_empty());
            let name = name.ok_or((number, format!("'{line}' is not a section: write [name]")))?;
            in_global = Some(name == "global");
            if name != "global" {
                sections.push(Section {
                    name: name.into(),
                    line: number,
                    stonewall: global.iter().any(Given::is_stonewall),
                    options: global.clone(),
                });
            }
            continue;
        }
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key, Some(value.trim().to_owned())),
            None => (line, None),
        };
        let given = Given {
            line: number,
            key: key.trim().to_lowercase().replace('-', "_"),
            value,
        };
        match (in_global, sections.last_mut()) {
            (Some(true), _) => global.push(given),
            (Some(false), Some(section)) => {
                section.stonewall |= given.is_stonewall();
                section.options.push(given);
            }
            _ => {
                let why = format!("'{line}' is in no section: write [global] or [name] above it");
                return Err((number, why));
            }
        }
    }
    match sections.is_empty() {
        true => Err((1, "no section: [global] alone is no job".into())),
        false => Ok(sections),
    }
}

impl Given {
    fn is_stonewall(&self) -> bool {
        matches!(self.key.as_str(), "stonewall" | "wait_for_previous") && self.is_on()
    }

    /// True for an option that is given without a value, or as 1.
    fn is_on(&self) -> bool {
        matches!(self.value.as_deref(), None | Some("1" | "true"))
    }

    fn text(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={value}", self.key),
            None => self.key.clone(),
        }
    }

    /// Its value in bytes.
    fn bytes(&self) -> Result<u64, Refusal> {
        let bytes = parse_size(self.value.as_deref().unwrap_or(""));
        bytes.map_err(|why| self.refused(&why))
    }

    fn refused(&self, why: &str) -> Refusal {
        (self.line, format!("{}: {why}", self.text()))
    }

    fn flag(&self, argument: String) -> Flag {
        Flag {
            line: self.line,
            option: self.text(),
            argument,
        }
    }
}

/// Refuses sections that fio would do at the same time.
fn check_order(sections: &[Section]) -> Result<(), Refusal> {
    let together = sections.windows(2).find(|pair| !pair[1].stonewall);
    match together {
        Some([before, section]) => Err((
            section.line,
            format!(
                "[{}] and [{}] begin together in fio, and one after the other here: write stonewall into \
                 [{}] or [global], or choose one by --section",
                before.name, section.name, section.name
            ),
        )),
        _ => Ok(()),
    }
}

/// The flags of `section`; of an option that is given twice the last.
fn flags(section: &Section) -> Result<Vec<Flag>, Refusal> {
    let last = |given: &&Given| {
        let same = section
            .options
            .iter()
            .rev()
            .find(|other| other.key == given.key);
        same.is_some_and(|same| same.line == given.line)
    };
    let options: Vec<&Given> = section.options.iter().filter(last).collect();
    let mut flags = Vec::new();
    for given in &options {
        let mut add = |argument: String| flags.push(given.flag(argument));
        let value = given.value.as_deref();
        match word(&given.key) {
            Some(Word::Same(flag)) => {
                let value = value.ok_or_else(|| given.refused("write a value after it"))?;
                if value.contains([',', ':']) {
                    return Err(given.refused("one value for all directions is what there is"));
                }
                add(format!("{flag}={value}"));
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
                return Err((
                    given.line,
                    format!(
                        "{}: not an option here; docs/fio.md has those that are",
                        given.key
                    ),
                ));
            }
        }
    }
    flags.extend(work(&options)?);
    flags.extend(rate(&options)?);
    flags.extend(completion(&options));
    Ok(flags)
}

/// fio's defaults where they are others than ours, as flags of the section's own line; or what the section
/// has to say.
fn defaults(section: &Section, typed: &Typed) -> Result<Vec<Flag>, Refusal> {
    let find = |key: &str| section.options.iter().rev().find(|given| given.key == key);
    let has = |keys: &[&str]| keys.iter().any(|key| find(key).is_some());
    let refused = |why: &str| Err((section.line, format!("[{}] {why}", section.name)));
    if !has(&["filename"]) && !typed.has("--device") {
        return refused("names no device: write filename, or give --device");
    }
    let amounts = ["size", "io_size", "number_ios", "runtime", "timeout"];
    if !has(&amounts) && !typed.has("--runtime") && !typed.has("--number_ios") {
        return refused("does not say how much: write size, number_ios or runtime");
    }
    let mut arguments = Vec::new();
    if !has(&["rw", "readwrite"]) {
        arguments.push("--rw=read");
    }
    if !has(&["ramp_time"]) {
        arguments.push("--ramp_time=0");
    }
    let name = find("filename").and_then(|given| given.value.as_deref());
    let ours = |name: &str| {
        let kinds = ["emulated\\:", "pcie\\:", "vfio-user\\:"];
        kinds.iter().any(|kind| name.starts_with(kind))
    };
    if !has(&["ioengine"]) && name.is_some_and(|name| !ours(name)) && !typed.has("--device") {
        arguments.push("--engine=psync");
    }
    let flags = arguments.into_iter().map(|argument| Flag {
        line: section.line,
        option: format!("[{}]", section.name),
        argument: argument.into(),
    });
    Ok(flags.collect())
}

/// How much a section does, as fio has it: `io_size` or `size` bytes, unless it is `time_based` or says
/// `number_ios`.
fn work(options: &[&Given]) -> Result<Option<Flag>, Refusal> {
    let time_based = find(options, "time_based").is_some_and(Given::is_on);
    if time_based || find(options, "number_ios").is_some() {
        return Ok(None);
    }
    let Some(given) = find(options, "io_size").or_else(|| find(options, "size")) else {
        return Ok(None);
    };
    let whole = given.bytes()?;
    let Some(bs) = block_size(options)? else {
        let why = "I/Os draw their sizes: say how many by number_ios, or write time_based";
        return Err(given.refused(why));
    };
    if bs == 0 || whole < bs {
        return Err(given.refused("less than one block"));
    }
    Ok(Some(given.flag(format!("--number_ios={}", whole / bs))))
}

/// The I/Os a second of `rate`, which fio has in bytes.
fn rate(options: &[&Given]) -> Result<Option<Flag>, Refusal> {
    let Some(given) = find(options, "rate") else {
        return Ok(None);
    };
    let bytes = given.bytes()?;
    match block_size(options)?.filter(|bs| (1..=bytes).contains(bs)) {
        Some(bs) => Ok(Some(given.flag(format!("--rate_iops={}", bytes / bs)))),
        None => Err(given
            .refused("bytes a second are those of at least one I/O of one size: write rate_iops")),
    }
}

/// Bytes of an I/O; `None`: each draws its size.
fn block_size(options: &[&Given]) -> Result<Option<u64>, Refusal> {
    if find(options, "bssplit")
        .or_else(|| find(options, "bsrange"))
        .is_some()
    {
        return Ok(None);
    }
    let bs = find(options, "bs").or_else(|| find(options, "blocksize"));
    bs.map_or(Ok(4096), Given::bytes).map(Some)
}

/// The names of `filename` in the section's `directory`, those of whole paths and of devices aside.
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

fn find<'a>(options: &[&'a Given], key: &str) -> Option<&'a Given> {
    options.iter().copied().find(|given| given.key == key)
}

/// The completion mode of `hipri` and `sqthread_poll`.
fn completion(options: &[&Given]) -> Option<Flag> {
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

/// What was typed after `joulio bench`, without the file and its sections.
struct Typed {
    arguments: Vec<OsString>,
}

impl Typed {
    fn new(typed: &[OsString], file: &Path) -> Typed {
        let mut arguments = Vec::new();
        let mut typed = typed.iter();
        while let Some(argument) = typed.next() {
            if argument == "--section" {
                typed.next();
            } else if argument != file.as_os_str()
                && !argument.as_encoded_bytes().starts_with(b"--section=")
            {
                arguments.push(argument.clone());
            }
        }
        Typed { arguments }
    }

    fn has(&self, flag: &str) -> bool {
        let name = |argument: &str| {
            let name = argument.split('=').next().unwrap_or(argument);
            name.replace("readwrite", "rw")
                .replace("blocksize", "bs")
                .replace("randseed", "seed")
                .replace('-', "_")
        };
        let wanted = name(flag);
        let mut arguments = self
            .arguments
            .iter()
            .filter_map(|argument| argument.to_str());
        arguments.any(|argument| argument.starts_with("--") && name(argument) == wanted)
    }

    /// The bench of `flags`, those that are typed too left out; or the line of the first that is wrong.
    fn parse(&self, flags: Vec<Flag>) -> Result<BenchArgs, Refusal> {
        let flags: Vec<Flag> = flags
            .into_iter()
            .filter(|flag| !self.has(&flag.argument))
            .collect();
        let parse = |flags: &[Flag]| {
            let first = [OsString::from("bench")].into_iter();
            let of_file = flags.iter().map(|flag| OsString::from(&flag.argument));
            let all = first.chain(of_file).chain(self.arguments.iter().cloned());
            Bench::try_parse_from(all).map(|bench| bench.args)
        };
        parse(&flags).map_err(|error| {
            // The first without which it would do; what is typed was read alone before.
            let wrong = (1..=flags.len()).find(|count| parse(&flags[..*count]).is_err());
            let wrong = wrong.and_then(|count| flags.get(count - 1));
            let why = usage_line(&error);
            match wrong {
                Some(flag) => (flag.line, format!("{}: {why}", flag.option)),
                None => (1, why),
            }
        })
    }
}

#[cfg(test)]
mod tests;
