//! fio's options on the command line: those of sections after `--name`, or together with the flags of a single bench.

use super::JobSections;
use super::error::JobFileError;
use super::flags::flags;
use super::sections::{Given, Section, SectionReader};
use super::typed_flags::TypedFlags;
use super::words::{Word, is_switch, word};
use std::ffi::OsString;

/// Arguments of `joulio bench`, sorted into sections and flags.
#[derive(Debug, Default, PartialEq)]
pub struct CommandLine {
    /// Sections, each begun by a `--name`; empty: there is no `--name`.
    pub sections: JobSections,
    /// Flags of joulio, including those that fio's options were translated to.
    pub typed: Vec<OsString>,
}

impl CommandLine {
    /// Returns true if there is a `--name`.
    pub fn has_sections(&self) -> bool {
        !self.sections.is_empty()
    }

    /// Parses the `arguments` after `joulio bench`; `is_flag` returns true for names of its flags, which have
    /// underscores.
    ///
    /// # Errors
    /// An option of fio has a value that is not supported.
    pub fn read(
        arguments: &[OsString],
        is_flag: impl Fn(&str) -> bool,
    ) -> Result<CommandLine, JobFileError> {
        let text = |argument: &OsString| argument.to_str().map(str::to_owned);
        let arguments = arguments.iter();
        let arguments = arguments.map(|argument| with_two_hyphens(argument, &is_flag));
        let arguments: Vec<OsString> = arguments.collect();
        let sectioned = arguments
            .iter()
            .filter_map(text)
            .any(|one| one == "--name" || one.starts_with("--name="));
        let mut typed = Vec::new();
        let mut found = Vec::new();
        let mut arguments = arguments.iter().peekable();
        while let Some(argument) = arguments.next() {
            let given = argument.to_str().and_then(given);
            let given = given.filter(|given| is_fios(given, sectioned, &is_flag));
            let Some(mut given) = given else {
                typed.push(argument.clone());
                continue;
            };
            if given.value.is_none() && takes_value(&given.key) {
                let next = arguments.next_if(|next| text(next).is_some_and(is_value));
                given.value = next.and_then(text);
            }
            found.push(given);
        }
        match sectioned {
            true => Ok(CommandLine {
                sections: JobSections::of(parted(found)?),
                typed,
            }),
            false => translated(found, typed),
        }
    }
}

/// Returns `argument` with two hyphens if it is a flag with one: fio accepts `-rw=read` for `--rw=read`.
fn with_two_hyphens(argument: &OsString, is_flag: &impl Fn(&str) -> bool) -> OsString {
    let option = argument.to_str().and_then(|text| text.strip_prefix('-'));
    let option = option.filter(|option| !option.starts_with('-'));
    let known = option.filter(|option| {
        let key = Given::read(0, option).key;
        key.len() > 1 && (word(&key).is_some() || is_flag(&key))
    });
    known.map_or_else(|| argument.clone(), |option| format!("--{option}").into())
}

/// Parses `argument` as an option; `None` if it is not one.
fn given(argument: &str) -> Option<Given> {
    let option = argument
        .strip_prefix("--")
        .filter(|option| !option.is_empty())?;
    Some(Given::read(0, option))
}

/// Returns true if `given` has to be read as an option of fio: in sections every option that fio has, otherwise those
/// that are not flags of joulio.
fn is_fios(given: &Given, sectioned: bool, is_flag: &impl Fn(&str) -> bool) -> bool {
    word(&given.key).is_some() && (sectioned || !is_flag(&given.key))
}

fn is_value(argument: String) -> bool {
    !argument.starts_with("--")
}

/// Returns true if the option `key` takes the next argument as its value, when its own argument has none.
fn takes_value(key: &str) -> bool {
    match word(key) {
        Some(Word::Same(_) | Word::Count(_) | Word::Whole(_)) => true,
        Some(Word::Translated(_)) => !matches!(key, "thread" | "threads"),
        Some(Word::Always(values, _)) => !values.contains(&"1") && !values.contains(&"0"),
        Some(Word::OfSection) => !is_switch(key),
        Some(Word::Switch(_) | Word::Refused(_)) | None => false,
    }
}

/// Splits `found` into sections. Each `--name` begins one, which also has the options before the first `--name` or
/// after `--name=global`.
fn parted(found: Vec<Given>) -> Result<Vec<Section>, JobFileError> {
    let mut reader = SectionReader::default();
    for given in found {
        if given.key != "name" {
            reader.add(given);
            continue;
        }
        let name = given.value.as_deref().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| given.refused("write the name of a section after it"))?;
        reader.begin(0, name);
    }
    let sections = reader.sections();
    match sections.is_empty() {
        true => Err(JobFileError::NoName),
        false => Ok(sections),
    }
}

/// Translates the options `found` to flags, after the typed ones.
fn translated(found: Vec<Given>, mut typed: Vec<OsString>) -> Result<CommandLine, JobFileError> {
    let own = TypedFlags::new(typed.clone());
    let mut section = Section {
        name: String::new(),
        line: 0,
        options: found,
    };
    // An amount of work is computed with the block sizes that were typed.
    if ["io_size", "filesize", "loops"]
        .iter()
        .any(|key| section.find(key).is_some())
    {
        own.count_in(&mut section);
    }
    if let Some(loops) = section
        .find("loops")
        .filter(|loops| !matches!(loops.count(), Ok(1)))
    {
        let sized = ["io_size", "size", "filesize"];
        if own.has("--number_ios") || !sized.iter().any(|key| section.find(key).is_some()) {
            return Err(loops.refused("loops are of io_size or size: write one, and no number_ios"));
        }
    }
    let flags = flags(&section, &own)?.into_iter();
    let flags = flags.filter(|flag| !own.has(&flag.argument));
    typed.extend(flags.map(|flag| flag.argument.into()));
    Ok(CommandLine {
        sections: JobSections::default(),
        typed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some of the flags of `joulio bench`.
    const FLAGS: [&str; 9] = [
        "bs",
        "device",
        "direct",
        "iodepth",
        "meter",
        "number_ios",
        "runtime",
        "rw",
        "size",
    ];

    fn read(line: &str) -> Result<CommandLine, JobFileError> {
        let arguments: Vec<_> = line.split_whitespace().map(OsString::from).collect();
        CommandLine::read(&arguments, |key| FLAGS.contains(&key))
    }

    /// Returns the names of the sections, each with its options.
    fn sections(line: &str) -> Vec<(String, String)> {
        let sections = read(line).unwrap().sections.chosen.into_iter();
        let texts = |options: Vec<Given>| {
            let texts: Vec<_> = options.iter().map(Given::text).collect();
            texts.join(" ")
        };
        sections
            .map(|section| (section.name, texts(section.options)))
            .collect()
    }

    #[test]
    fn words_beside_flags_are_flags() {
        let line = "--filename x --ioengine=libaio --buffered=0 --time_based --runtime 2 --norandommap --hipri --bs 4k,8k";
        let typed = read(line).unwrap().typed;
        let expected = [
            "--runtime",
            "2",
            "--bs",
            "4k,8k",
            "--device=./x",
            "--engine=libaio",
            "--completion=poll",
        ];
        assert_eq!(typed, expected.map(OsString::from));
        assert_eq!(read("--device x -o y").unwrap().typed.len(), 4);
        let last = |line| {
            let typed = read(line).unwrap().typed;
            typed.last().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(last("--io_size=1m --bs 8k"), "--number_ios=128");
        assert_eq!(last("--size 1m --loops 3"), "--number_ios=768");
    }

    #[test]
    fn names_begin_sections_as_in_fio() {
        let line =
            "--rw=randread --name=a --bs 4k --meter none --name b --bs=8k --stonewall --thread";
        let expected = [
            ("a", "rw=randread bs=4k"),
            ("b", "rw=randread bs=8k stonewall thread"),
        ];
        let expected = expected.map(|(name, options)| (name.to_owned(), options.to_owned()));
        assert_eq!(sections(line), expected);
        assert_eq!(
            read(line).unwrap().typed,
            ["--meter", "none"].map(OsString::from)
        );
        let line = "--name=global --size=1m --name=a --name=global --bs=8k --name=b";
        let expected = [("a", "size=1m"), ("b", "size=1m bs=8k")];
        let expected = expected.map(|(name, options)| (name.to_owned(), options.to_owned()));
        assert_eq!(sections(line), expected);
    }

    #[test]
    fn one_hyphen_does_as_in_fio() {
        let line = "-filename=x -direct=1 -rw randread -thread -bs=4k -name=a -o json";
        assert_eq!(
            sections(line),
            [(
                "a".into(),
                "filename=x direct=1 rw=randread thread bs=4k".into()
            )]
        );
        assert_eq!(
            read(line).unwrap().typed,
            ["-o", "json"].map(OsString::from)
        );
        let typed = read("-iodepth 4 -x").unwrap().typed;
        assert_eq!(typed, ["--iodepth", "4", "-x"].map(OsString::from));
    }

    #[test]
    fn values_that_are_not_here_are_refused() {
        let refused = |line| read(line).unwrap_err().to_string();
        assert!(refused("--buffered=1").starts_with("buffered=1: every I/O is direct"));
        assert!(
            refused("--filename=x --ioengine=windowsaio")
                .starts_with("ioengine=windowsaio: engines")
        );
        assert!(refused("--name=global --bs=4k").contains("--name NAME"));
        assert!(refused("--name").contains("write the name"));
        let loops = "loops=3: loops are of io_size or size";
        assert!(refused("--loops 3").starts_with(loops));
        assert!(refused("--size 1m --loops=3 --number_ios 10").starts_with(loops));
    }
}
