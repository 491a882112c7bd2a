//! `joulio power --idle`: what the machine draws when it does nothing.

use super::Run;
use super::busy::CpuTime;
use super::pause::pause;
use super::report::Row;
use super::table;
use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, print, print_json};
use indicatif::{ProgressBar, ProgressStyle};
use joulio_energy::{Baseline, Discovery, Host, MeterResult, Root};
use joulio_lab::output_file::{Existing, OutputFile, OutputFileError};
use joulio_units::Nanos;
use std::env::var_os;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A baseline takes a few kilobytes, and not all files end.
const LARGEST: u64 = 1 << 20;
/// Of the CPUs' time; a machine that works more is not idle.
const IDLE: f64 = 0.05;

/// Measures for `time`, and keeps what it finds.
pub(super) fn measure(run: &Run<'_>, mut discovery: Discovery, time: Nanos) -> Outcome {
    if discovery.meters.is_empty() {
        return Err(Failure::input(
            "--idle: no meter can be read here: joulio power says why",
        ));
    }
    let host = host(&run.root)?;
    let path = match &run.args.file {
        Some(path) => path.clone(),
        None => place()?,
    };
    let file = open(&path)?;
    let (before, bar) = (CpuTime::now(), bar(time));
    let window = discovery.meters.open().map_err(Failure::run)?;
    let whole = pause(time, &run.stop, |part| {
        bar.set_position((part * time.0 as f64) as u64)
    });
    let measured = window.close(None);
    bar.finish_and_clear();
    if !whole {
        return Err(Failure::run("--idle: ended early: nothing is kept"));
    }
    let busy = CpuTime::now().busy_since(before);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    let baseline = Baseline::new(host, now, &measured);
    if baseline.meters.is_empty() {
        let why = measured.iter().find_map(|m| m.figure.as_ref().err());
        let why = why.map(ToString::to_string).unwrap_or_default();
        return Err(Failure::run(format!(
            "--idle: no meter has a figure: {why}"
        )));
    }
    let kept = file.write(&baseline.to_json());
    // What was measured is shown, whatever became of the file.
    tell(
        run,
        &measured,
        &baseline,
        busy,
        kept.is_ok().then_some(&path),
    )?;
    kept.map_err(Failure::run)
}

fn host(root: &Root) -> Result<Host, Failure> {
    Host::of(root).map_err(|error| {
        Failure::input(format!(
            "idle baseline: {error}: systemd-machine-id-setup gives this machine an identity"
        ))
    })
}

fn bar(time: Nanos) -> ProgressBar {
    let bar = ProgressBar::new(time.0);
    // The template is a constant: it parses or the tests fail.
    if let Ok(style) = ProgressStyle::with_template("idle [{bar:40}] {percent:>3} %  {elapsed}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

fn tell(
    run: &Run<'_>,
    measured: &[MeterResult],
    baseline: &Baseline,
    busy: Option<f64>,
    kept: Option<&PathBuf>,
) -> Outcome {
    if run.args.output == Format::Json {
        return print_json(baseline);
    }
    let rows: Vec<_> = measured.iter().map(Row::measured).collect();
    let mut text = table::lines(&rows);
    for row in rows.iter().filter(|row| row.why.is_some()) {
        text.push_str(&format!(
            "{}: not kept: {}\n",
            row.name,
            row.why.as_deref().unwrap_or("")
        ));
    }
    if let Some(path) = kept {
        text.push_str(&format!("\nkept in {}\n", path.display()));
    }
    if let Some(busy) = busy.filter(|&busy| busy > IDLE) {
        text.push_str(&format!(
            "but the CPUs were {:.0} % busy meanwhile: stop what runs, and measure again\n",
            100.0 * busy
        ));
    }
    print(&text)
}

/// Where it is kept unless `--file` says otherwise, as the journal of `joulio power-states`.
fn place() -> Result<PathBuf, Failure> {
    const NAME: &str = "joulio/idle-baseline.json";
    let folder = |name: &str| {
        var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if let Some(state) = folder("XDG_STATE_HOME") {
        return Ok(state.join(NAME));
    }
    if rustix::process::geteuid().is_root() {
        return Ok(Path::new("/var/lib").join(NAME));
    }
    let home = folder("HOME").ok_or_else(|| {
        Failure::input("no place for the idle baseline: set HOME or XDG_STATE_HOME, or say --file")
    })?;
    Ok(home.join(".local/state").join(NAME))
}

/// The file to keep it in, before anything is measured: there may be an older baseline in it, of
/// this machine or another, but nothing else.
fn open(path: &Path) -> Result<OutputFile, Failure> {
    let refuse = |error: &dyn std::fmt::Display| Failure::input(format!("--file: {error}"));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| refuse(&format!("{}: {error}", folder.display())))?;
    }
    let file = OutputFile::open(path, Existing::Replace).map_err(|error| refuse(&error))?;
    let is_one = |text: &String| text.is_empty() || Baseline::is_one(text);
    if path.is_file() && !fs::read_to_string(path).is_ok_and(|text| is_one(&text)) {
        return Err(refuse(&OutputFileError::Foreign {
            path: path.into(),
            what: "joulio power --idle",
        }));
    }
    Ok(file.for_all())
}

/// The baseline that is kept in `file`, or in its usual place; None: there is none there. What has
/// changed since it was measured is told beside it.
pub fn kept(root: &Root, file: Option<&Path>) -> Result<Option<(Baseline, Vec<String>)>, Failure> {
    let path = match file {
        Some(path) => path.to_owned(),
        None => place()?,
    };
    let named =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let read = || {
        // A FIFO would be waited for, whatever signal comes.
        if !fs::metadata(&path)?.is_file() {
            return Err(io::Error::other(
                "not a regular file, so no idle baseline of joulio power --idle",
            ));
        }
        let mut text = String::new();
        let file = File::open(&path)?.take(LARGEST);
        io::BufReader::new(file).read_to_string(&mut text)?;
        Ok::<_, io::Error>(text)
    };
    let text = match read() {
        Ok(text) => text,
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
                && file.is_none() =>
        {
            return Ok(None);
        }
        Err(error) => return Err(named(&error)),
    };
    let host = host(root)?;
    let baseline = Baseline::from_json(&text, &host).map_err(|error| named(&error))?;
    let differences = baseline.differences(&host);
    Ok(Some((baseline, differences)))
}
