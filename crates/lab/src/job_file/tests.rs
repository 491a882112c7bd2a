//! Tests of job files, from text to flags.

use super::listed::WORDS;
use super::words::{Word, word};
use super::*;
use std::ffi::OsString;

/// Line of a job file, and the problem with it.
type Refusal = (usize, String);

/// Name and flags of a section.
type Flags = (String, Vec<String>);

fn refusal(error: JobFileError) -> Refusal {
    (error.line(), error.to_string())
}

fn flags_of(text: &str) -> Result<Vec<Flags>, Refusal> {
    let all = grouped(text)?.into_iter().flatten().map(|section| {
        let flags = flags(&section, &untyped())
            .map_err(refusal)?
            .into_iter()
            .map(|flag| flag.argument);
        Ok((section.name.clone(), flags.collect()))
    });
    all.collect()
}

fn untyped() -> TypedFlags {
    TypedFlags::default()
}

/// Returns the sections of `text` in groups.
fn grouped(text: &str) -> Result<Vec<Vec<Section>>, Refusal> {
    let sections = JobSections::parse(text).map_err(refusal)?;
    sections.groups().map_err(refusal)
}

/// Returns the names of the sections of `text` in groups: `a b, c`.
fn order(text: &str) -> Result<String, Refusal> {
    let groups = grouped(text)?.into_iter().map(|group| {
        let names = group.into_iter().map(|section| section.name);
        names.collect::<Vec<_>>().join(" ")
    });
    Ok(groups.collect::<Vec<_>>().join(", "))
}

#[test]
fn sections_begin_together_until_one_waits() {
    let orders = [
        ("[a]\n[b]\n[c]\n", "a b c"),
        (
            "[a]\nstonewall\n[b]\nstonewall=0\n[c]\nwait_for_previous=1\n[d]\n",
            "a b, c d",
        ),
        ("[global]\nstonewall\n[a]\n[b]\n", "a, b"),
        ("[a]\n[b]\nnew_group\n[c]\nnew_group\nstonewall", "a b, c"),
        (
            "[a]\n[b]\nwait_for=a\n[c]\nwait_for=b\n[d]\nstonewall\n[e]\nwait_for=a\n",
            "a, b, c, d e",
        ),
    ];
    for (text, wanted) in orders {
        assert_eq!(order(text).as_deref(), Ok(wanted), "{text}");
    }
    let wrong = [
        ("[a]\n[b]\nwait_for=z\n", 3, "no section of that name"),
        ("[a]\n[b]\n[c]\nwait_for=a\n", 4, "use stonewall instead"),
        (
            "[a]\n[b]\nwait_for=a\n[c]\n",
            4,
            "[c] begins before [b] in fio",
        ),
    ];
    for (text, line, why) in wrong {
        let (at, said) = order(text).unwrap_err();
        assert!(at == line && said.contains(why), "{text}: {at}: {said}");
    }
}

#[test]
fn the_rest_of_a_line_may_be_a_comment_and_the_last_of_two_names_counts() {
    let text = "[a] # one\nbs=8k ; of each\nblocksize=4k\nrwmixread=60\nrwmixwrite=30\nthread=0\n";
    let (name, flags) = flags_of(text).unwrap().remove(0);
    assert_eq!(name, "a");
    assert_eq!(flags, ["--bs=4k", "--rwmixread=70", "--process"]);
}

#[test]
fn values_come_from_the_environment_too() {
    let mut section = sections("[a]\nbs=${SIZE}k\nfilename=/${A}/${B}\n")
        .unwrap()
        .remove(0);
    let known = |name: &str| match name {
        "SIZE" => Some("8".to_owned()),
        "A" => Some("x".to_owned()),
        "B" => Some("y".to_owned()),
        _ => None,
    };
    section.expand(known);
    let flags = flags(&section, &untyped())
        .unwrap()
        .into_iter()
        .map(|flag| flag.argument);
    assert_eq!(flags.collect::<Vec<_>>(), ["--bs=8k", "--device=/x/y"]);
    let mut section = sections("[a]\nbs=4k\nrw=${RW}\n").unwrap().remove(0);
    section.expand(known);
    let (line, why) = refusal(self::flags(&section, &untyped()).unwrap_err());
    assert!(line == 3 && why.contains("RW is not set"), "{why}");
}

#[test]
fn what_is_on_or_off_has_no_other_value() {
    for key in [
        "time_based",
        "stonewall",
        "wait_for_previous",
        "new_group",
        "hipri",
        "sqthread_poll",
        "group_reporting",
        "fixedbufs",
        "exitall",
        "end_fsync",
    ] {
        for value in ["", "=1", "=0", "=true", "=false"] {
            let text = format!("[a]\nfilename=x\nnumber_ios=1\n{key}{value}\n");
            assert!(flags_of(&text).is_ok(), "{text}");
        }
        for value in ["yes", "no", "2", "on", ""] {
            let text = format!("[a]\nfilename=x\nnumber_ios=1\n{key}={value}\n");
            let (line, why) = flags_of(&text).unwrap_err();
            assert_eq!((line, why), (4, format!("{key}={value}: 0 or 1")));
        }
    }
}

#[test]
fn a_value_for_each_direction_is_one_where_they_are_the_same() {
    let flags = flags_of("[a]\nbs=8k,8k,8k\nrate=1m,1m\n")
        .unwrap()
        .remove(0)
        .1;
    assert_eq!(flags, ["--bs=8k", "--rate_iops=128"]);
}

#[test]
fn a_seed_is_the_systems_where_nothing_is_to_repeat() {
    let seeds = |text: &str| {
        let flags = flags_of(text).unwrap().remove(0).1;
        let seed = |flag: &String| flag.strip_prefix("--seed=").map(str::to_owned);
        flags.iter().filter_map(seed).collect::<Vec<_>>()
    };
    let drawn = || seeds("[a]\nrandrepeat=0\n");
    assert_eq!(drawn().len(), 1);
    assert_ne!(drawn(), drawn());
    assert_eq!(seeds("[a]\nallrandrepeat=1\n"), Vec::<String>::new());
    assert_eq!(seeds("[a]\nrandrepeat=0\nrandseed=7\n"), ["7"]);
    let (line, why) = flags_of("[a]\nrandrepeat=2\n").unwrap_err();
    assert!(line == 2 && why.contains("0 or 1"), "{why}");
}

#[test]
fn readonly_and_allow_write_contradict_each_other() {
    let section = sections("[a]\nrw=write\nreadonly=1\n").unwrap().remove(0);
    assert!(flags(&section, &untyped()).is_ok());
    let typed = TypedFlags::new(vec!["--allow-write".into()]);
    let (line, why) = refusal(flags(&section, &typed).unwrap_err());
    assert!(line == 3 && why.contains("--allow-write"), "{why}");
}

#[test]
fn commands_go_to_the_namespace_whose_other_file_is_named() {
    let flags = flags_of("[a]\nfilename=/dev/ng0n1\nioengine=io_uring_cmd\ncmd_type=nvme\n")
        .unwrap()
        .remove(0)
        .1;
    assert_eq!(flags, ["--device=/dev/nvme0n1", "--engine=io_uring_cmd"]);
}

#[test]
fn what_is_typed_is_reckoned_with() {
    let typed = TypedFlags::new(["--size", "1m", "--bs=8k"].map(OsString::from).into());
    let mut section = sections("[a]\nsize=10g\nblocksize=4k\n").unwrap().remove(0);
    typed.count_in(&mut section);
    let flags = flags(&section, &typed)
        .unwrap()
        .into_iter()
        .map(|flag| flag.argument);
    let work: Vec<_> = flags
        .filter(|flag| flag.starts_with("--number_ios"))
        .collect();
    assert_eq!(work, ["--number_ios=128"]);
}

#[test]
fn sections_have_the_options_of_the_global_ones_above_them() {
    let text = "; a comment\n[global]\nbs=4k\nrw=randread\n[one]\niodepth=4\n\n[global]\nbs=8k\n\
                [two]\nstonewall\niodepth=8\nrw=read\n";
    let flags = flags_of(text).unwrap();
    let of = |flags: &[&str]| {
        flags
            .iter()
            .map(|flag| flag.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        flags,
        [
            (
                "one".into(),
                of(&["--bs=4k", "--rw=randread", "--iodepth=4"])
            ),
            ("two".into(), of(&["--bs=8k", "--iodepth=8", "--rw=read"])),
        ]
    );
}

#[test]
fn a_size_is_work_unless_time_is() {
    let numbers = |text: &str| {
        let flags = flags_of(&format!("[a]\nbs=8k\n{text}\n"))
            .unwrap()
            .remove(0)
            .1;
        flags
            .into_iter()
            .find(|flag| flag.starts_with("--number_ios"))
    };
    assert_eq!(numbers("size=1m").as_deref(), Some("--number_ios=128"));
    assert_eq!(
        numbers("size=1m\nio_size=2m").as_deref(),
        Some("--number_ios=256")
    );
    assert_eq!(numbers("size=1m\ntime_based\nruntime=5"), None);
    assert_eq!(
        numbers("size=1m\nnumber_ios=7").as_deref(),
        Some("--number_ios=7")
    );
}

#[test]
fn suffixes_are_powers_of_1024_as_in_fio() {
    let flags = |text: &str| flags_of(&format!("[a]\n{text}\n")).unwrap().remove(0).1;
    assert_eq!(flags("number_ios=1k"), ["--number_ios=1024"]);
    assert_eq!(flags("rate_iops=20k"), ["--rate_iops=20480"]);
    let looped = flags("size=64k\nloops=2k");
    assert_eq!(looped, ["--size=64k", "--number_ios=32768"]);
    // In fio KiB is 1000, and elsewhere 1024.
    for text in [
        "size=1GiB",
        "io_size=1gib",
        "offset=4KiB",
        "bs=4kib,4kib",
        "bsrange=4k-1MiB",
        "bssplit=4k/50:8KiB/50",
        "rate=1MiB",
        "number_ios=1KiB",
        "loops=1kib",
    ] {
        let (line, why) = flags_of(&format!("[a]\n{text}\n")).unwrap_err();
        assert!(line == 2 && why.starts_with(text), "{why}");
        assert!(why.contains(" is 1000^"), "{why}");
    }
    let (_, why) = flags_of("[a]\nsize=2GiB\n").unwrap_err();
    assert!(
        why.contains("fio's GiB is 1000^3: write 2G for 1024^3"),
        "{why}"
    );
    let (_, why) = flags_of("[a]\nnumber_ios=many\n").unwrap_err();
    assert!(why.contains("(1k = 1024)"), "{why}");
    // A typed flag is joulio's own.
    let typed = TypedFlags::new(vec!["--size=2GiB".into()]);
    let mut section = sections("[a]\nsize=1GiB\nbs=1m\n").unwrap().remove(0);
    typed.count_in(&mut section);
    let work = self::flags(&section, &typed).unwrap().pop().unwrap();
    assert_eq!(work.argument, "--number_ios=2048");
}

#[test]
fn a_rate_of_each_direction_is_refused() {
    for rate in ["rate=1m", "rate_iops=100"] {
        for rw in ["randrw", "rw", "readwrite", "trimwrite", "randtrimwrite"] {
            let (line, why) = flags_of(&format!("[a]\n{rate}\nrw={rw}\n")).unwrap_err();
            assert!(
                line == 2 && why.starts_with(rate) && why.contains("of each direction"),
                "{why}"
            );
        }
        for rw in [
            "rw=read",
            "rw=randwrite",
            "rw=trim",
            "rw=randrw\nreadwrite=read",
        ] {
            assert!(flags_of(&format!("[a]\n{rw}\n{rate}\n")).is_ok(), "{rw}");
        }
        let with = |typed: &str| {
            let section = sections(&format!("[a]\nrw=randrw\n{rate}\n")).unwrap();
            flags(&section[0], &TypedFlags::new(vec![typed.into()]))
        };
        assert!(with("--rate_iops=200").is_ok() && with("--rw=read").is_ok());
        assert!(with("--rw=read,rw").is_err());
    }
}

#[test]
fn polling_by_the_kernel_is_a_completion_mode() {
    let mode = |text: &str| {
        let flags = flags_of(&format!("[a]\n{text}\n")).unwrap().remove(0).1;
        flags
            .into_iter()
            .find(|flag| flag.starts_with("--completion"))
    };
    assert_eq!(mode("hipri").as_deref(), Some("--completion=poll"));
    // joulio's own option takes precedence over hipri.
    let own = mode("completion=hybrid=4us\nhipri");
    assert_eq!(own.as_deref(), Some("--completion=hybrid=4us"));
    let listed = flags_of("[a]\nfilename=x\nsize=1m\ncompletion=poll,hybrid\n").unwrap_err();
    assert_eq!(listed.0, 4);
    assert!(
        listed.1.contains("--completion poll,adaptive"),
        "{}",
        listed.1
    );
    let slo = flags_of("[a]\nfilename=x\nsize=1m\nslo=p99=1ms,p99.9=2ms\n").unwrap();
    assert!(slo[0].1.contains(&"--slo=p99=1ms,p99.9=2ms".into()));
    assert_eq!(mode("hipri=0"), None);
    assert_eq!(
        mode("sqthread_poll=1").as_deref(),
        Some("--completion=sqpoll")
    );
    assert_eq!(
        mode("sqthread_poll=1\nhipri=1").as_deref(),
        Some("--completion=sqpoll+poll")
    );
}

#[test]
fn what_is_wrong_has_its_line_and_says_what_to_do() {
    let cases = [
        ("bs=4k\n", 1, "in no section"),
        ("[global]\nbs=4k\n", 1, "no job"),
        ("[a\n", 1, "write [name]"),
        ("[a]\nbs=4k\nfoo=1\n", 3, "foo: not an option here"),
        ("[a]\ndirect=0\n", 2, "the page cache is not measured"),
        ("[a]\nbssplit=4k/50:8k/50,4k\n", 2, "give one list"),
        ("[a]\nbssplit=4k/50:8k/50\nsize=1m\n", 3, "number_ios"),
        ("[a]\nrate=1k\n", 2, "write rate_iops"),
        ("[a]\nioengine=windowsaio\n", 2, "engines are io_uring"),
        ("[a]\nbs=4k,8k\n", 2, "one value for all directions"),
        ("[a]\nsize=1k\n", 2, "less than one block"),
        ("[a]\ncpumask=0\n", 2, "0x3 for CPUs 0 and 1"),
        ("[a]\nsync=1\n", 2, "fsync=1"),
        (
            "[a]\ncpus_allowed=0,1\ncpus_allowed_policy=shared\n",
            3,
            "taskset",
        ),
        ("[a]\nsize=1m\nbs=4q\n", 3, "bs=4q: '4q' is not a size"),
    ];
    for (text, line, why) in cases {
        let (at, said) = flags_of(text).unwrap_err();
        assert!(at == line && said.contains(why), "{text}: {at}: {said}");
    }
}

#[test]
fn other_names_of_cpus_nodes_and_sizes_are_flags_too() {
    let flag = |text: &str| flags_of(&format!("[a]\n{text}\n")).unwrap().remove(0).1;
    assert_eq!(flag("cpumask=0x5"), ["--cpus_allowed=0,2"]);
    assert_eq!(flag("cpumask=3"), ["--cpus_allowed=0,1"]);
    assert_eq!(flag("numa_cpu_nodes=1"), ["--numa=1"]);
    assert_eq!(flag("blocksize_range=4k-8k"), ["--bsrange=4k-8k"]);
    let shared = "cpus_allowed=1\ncpus_allowed_policy=shared";
    assert_eq!(flag(shared), ["--cpus_allowed=1"]);
    let all = "iodepth=8\niodepth_batch_complete_max=4\neta_newline=5s";
    let max = "--iodepth_batch_complete_max=4";
    assert_eq!(flag(all), ["--iodepth=8", max, "--status-interval=5s"]);
    // With random sizes, a number of bytes does not determine the number of I/Os.
    assert!(flags_of("[a]\nblocksize_range=4k-8k\nsize=1m\n").is_err());
}

#[test]
fn several_sizes_that_are_typed_have_no_one_number_of_ios() {
    let refused = |typed: &str, text: &str| {
        let typed = TypedFlags::new(typed.split(' ').map(OsString::from).collect());
        let mut section = sections(text).unwrap().remove(0);
        typed.count_in(&mut section);
        refusal(flags(&section, &typed).unwrap_err())
    };
    for bs in ["--bs 4k,8k", "--bs=4k:8k", "--bs 4k --bs 8k"] {
        let (line, why) = refused(bs, "[a]\nfilename=x\nsize=1m\n");
        assert_eq!(line, 3);
        assert!(why.starts_with("size=1m: --bs has several sizes"), "{why}");
        let (line, why) = refused(bs, "[a]\nfilename=x\nrate=1m\n");
        assert!(line == 3 && why.contains("one block size"), "{why}");
    }
    for bs in ["--bs 4k/50:8k/50", "--bsrange 4k-8k"] {
        let (_, why) = refused(bs, "[a]\nfilename=x\nsize=1m\n");
        assert!(why.contains("block size is random"), "{why}");
    }
}

#[test]
fn every_option_of_the_list_is_known() {
    for key in WORDS {
        assert!(word(key).is_some(), "{key}");
    }
    assert!(word("no_such_option").is_none());
}

#[test]
fn what_fio_has_by_default_is_so_here() {
    let of = |text: &str| {
        let section = sections(text).unwrap().remove(0);
        let flags = defaults(&section, &untyped()).map_err(refusal)?.into_iter();
        let arguments: Vec<_> = flags.map(|flag| flag.argument).collect();
        Ok::<_, Refusal>(arguments.join(" "))
    };
    assert_eq!(
        of("[a]\nfilename=/dev/nvme0n1\nsize=1m\n").unwrap(),
        "--rw=read --ramp_time=0 --engine=psync"
    );
    let ours = "[a]\nfilename=emulated\\:instant\nruntime=1\nrw=randread\nramp_time=1\n";
    assert_eq!(of(ours).unwrap(), "");
    let (line, why) = of("\n[a]\nsize=1m\n").unwrap_err();
    assert!(
        line == 2 && why.contains("file ./a.0.0 is not there: write filename"),
        "{why}"
    );
    let (_, why) = of("[a]\nfilename=x\n").unwrap_err();
    assert!(why.contains("write size, number_ios or runtime"), "{why}");
    // An existing file is read once, or as often as loops says.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("disk.img");
    std::fs::write(&file, [0; 10_000]).unwrap();
    let text = format!("[a]\nfilename={}\nloops=3\nbs=1k\n", file.display());
    assert_eq!(
        of(&text).unwrap(),
        "--number_ios=27 --rw=read --ramp_time=0 --engine=psync"
    );
}

/// Returns the table of options in docs/fio.md.
fn page_table() -> String {
    let mut lines = String::new();
    for key in WORDS {
        let here = match word(key).unwrap() {
            Word::Same(flag) | Word::Count(flag) | Word::Whole(flag) | Word::Switch(flag) => {
                format!("`{flag}`")
            }
            Word::Translated(_) => "as in fio, for the values that exist here".into(),
            Word::OfSection => "as in fio".into(),
            Word::Always(values, why) => format!("{}: {why}", values.join(", ")),
            Word::Refused(why) => format!("refused: {why}"),
        };
        lines += &format!("| `{key}` | {here} |\n");
    }
    lines
}

#[test]
fn the_page_has_every_option() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/fio.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page_table();
    assert!(page.contains(&table), "docs/fio.md is to have:\n{table}");
    let refused = WORDS
        .iter()
        .filter(|key| matches!(word(key), Some(Word::Refused(_))))
        .count();
    let counts = format!("{} of these {} options", WORDS.len() - refused, WORDS.len());
    assert!(page.contains(&counts), "docs/fio.md is to say: {counts}");
}

#[test]
fn a_file_name_is_a_path_and_a_colon_parts_several() {
    let devices = |name: &str| {
        flags_of(&format!("[a]\nfilename={name}\n"))
            .unwrap()
            .remove(0)
            .1
    };
    assert_eq!(devices("disk.img"), ["--device=./disk.img"]);
    assert_eq!(devices("/dev/sda:b"), ["--device=/dev/sda", "--device=./b"]);
    assert_eq!(devices("emulated\\:instant"), ["--device=emulated:instant"]);
    assert_eq!(
        devices("instant,size=1m:a"),
        ["--device=emulated:instant,size=1m", "--device=./a"]
    );
    assert_eq!(devices("emulated"), ["--device=emulated:"]);
    assert_eq!(
        devices("emulated,count=2:a"),
        ["--device=emulated:,count=2", "--device=./a"]
    );
    for (name, psync) in [
        ("a", true),
        ("emulated:instant", false),
        ("emulated\\:instant", false),
        ("instant", false),
    ] {
        let section = sections(&format!("[a]\nfilename={name}\nsize=1m\n"))
            .unwrap()
            .remove(0);
        let flags = defaults(&section, &untyped()).unwrap();
        let is_psync = flags.iter().any(|flag| flag.argument == "--engine=psync");
        assert_eq!(is_psync, psync, "{name}");
    }
    assert_eq!(
        devices("pcie\\:0000\\:01\\:00.0"),
        ["--device=pcie:0000:01:00.0"]
    );
    // joulio's own device names need no backslash before a colon.
    assert_eq!(
        devices(
            "emulated:instant,size=1m:pcie:0000:01:00.0:pcie:02:00.0,nsid=2:vfio-user:./sock:c"
        ),
        [
            "--device=emulated:instant,size=1m",
            "--device=pcie:0000:01:00.0",
            "--device=pcie:02:00.0,nsid=2",
            "--device=vfio-user:./sock",
            "--device=./c"
        ]
    );
    assert_eq!(
        devices("a:/b:emulated\\:instant\ndirectory=/mnt/"),
        [
            "--device=/mnt/a",
            "--device=/b",
            "--device=emulated:instant"
        ]
    );
}

#[test]
fn a_rate_in_bytes_is_one_of_ios() {
    let flags = |text: &str| flags_of(&format!("[a]\n{text}\n")).unwrap().remove(0).1;
    assert!(flags("rate=1m\nbs=8k").contains(&"--rate_iops=128".into()));
    assert!(flags("rate=1m").contains(&"--rate_iops=256".into()));
    // The nearest whole number is used if it is less than 1 % off.
    assert!(flags("rate=1000000").contains(&"--rate_iops=244".into()));
    assert!(flags("rate=2m\nbs=20000").contains(&"--rate_iops=105".into()));
    assert!(flags("rate=30m\nbs=3m").contains(&"--rate_iops=10".into()));
    assert!(flags("rate=8191").contains(&"--rate_iops=2".into()));
    for (rate, why) in [
        (
            "6k",
            "1.50 I/Os of 4096 bytes a second: write rate_iops=1 or rate_iops=2",
        ),
        (
            "50000",
            "12.21 I/Os of 4096 bytes a second: write rate_iops=12 or rate_iops=13",
        ),
    ] {
        let refused = flags_of(&format!("[a]\nrate={rate}\n")).unwrap_err();
        let said = format!("rate={rate}: {why}, whole numbers only, in its place");
        assert_eq!(refused, (2, said));
    }
    let values = flags("random_distribution=zipf:1.2\npercentile_list=50:99.9");
    assert_eq!(
        values,
        [
            "--random_distribution=zipf:1.2",
            "--percentile_list=50:99.9"
        ]
    );
}
