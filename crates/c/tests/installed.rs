//! Files that crates/c/install installs are found by pkg-config, linked either way, and have versions.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the output of `command`; if it fails, an error with all that it printed.
fn said(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    let text = String::from_utf8(output.stdout)?;
    match output.status.success() {
        true => Ok(text),
        false => {
            let errors = String::from_utf8_lossy(&output.stderr);
            Err(format!("{command:?}: {}: {text}{errors}", output.status).into())
        }
    }
}

/// Installs the library that this test was built with below `prefix`.
fn install(prefix: &Path) -> Result<String> {
    let archive = std::env::current_exe()?.with_file_name("libjoulio.a");
    let mut install = Command::new(here("install"));
    install.arg("--prefix").arg(prefix);
    said(install.arg("--archive").arg(archive))
}

fn pkg_config(prefix: &Path, flags: &[&str]) -> Result<Vec<String>> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let said = said(command.args(flags).arg("joulio"))?;
    Ok(said.split_ascii_whitespace().map(Into::into).collect())
}

/// Returns the names of functions in joulio.h.
fn declared() -> Result<BTreeSet<String>> {
    let header = std::fs::read_to_string(here("include/joulio.h"))?;
    let code = header.lines().filter(|line| !line.starts_with("//"));
    let names = code.filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        let name = before.rsplit([' ', '*']).next()?;
        name.starts_with("joulio_").then(|| name.to_owned())
    });
    Ok(names.collect())
}

#[test]
fn a_program_finds_the_installed_library_by_pkg_config() -> Result<()> {
    // Linking a library of this size without optimisation, twice, takes longer than the rest of these tests.
    if std::env::var_os("JOULIO_THOROUGH").is_none() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let prefix = folder.path().join("prefix");
    let listed = install(&prefix)?;
    assert!(
        listed.lines().all(|file| Path::new(file).exists()),
        "{listed}"
    );
    let version = pkg_config(&prefix, &["--modversion"])?;
    assert_eq!(version, [env!("CARGO_PKG_VERSION")]);
    let library = prefix.join("lib/libjoulio.so");

    let compile = |program: &str, libraries: Vec<String>| -> Result<PathBuf> {
        let program = folder.path().join(program);
        let mut gcc = Command::new("gcc");
        gcc.args(["-std=c11", "-Wall", "-Werror"])
            .arg(here("examples/read.c"));
        gcc.args(pkg_config(&prefix, &["--cflags"])?);
        said(gcc.arg("-o").arg(&program).args(libraries))?;
        Ok(program)
    };
    let arguments = ["emulated:instant", "interrupt", "300"];
    let reads = "emulated:instant, interrupt: 300 reads, 0 failed; ";

    let shared = compile("shared", pkg_config(&prefix, &["--libs"])?)?;
    let needs = said(Command::new("readelf").arg("-dV").arg(&shared))?;
    assert!(needs.contains("[libjoulio.so.0.1]"), "{needs}");
    assert!(needs.contains("JOULIO_0.1"), "{needs}");
    let mut run = Command::new(&shared);
    run.env("LD_LIBRARY_PATH", prefix.join("lib"));
    let found = said(run.args(arguments))?;
    assert!(found.starts_with(reads), "{found}");

    // The same with none of its files present at run time.
    let libraries = pkg_config(&prefix, &["--static", "--libs"])?;
    let by_name = |library: String| match library.as_str() {
        "-ljoulio" => "-l:libjoulio.a".into(),
        _ => library,
    };
    let linked = compile("static", libraries.into_iter().map(by_name).collect())?;
    let needs = said(Command::new("readelf").arg("-d").arg(&linked))?;
    assert!(!needs.contains("libjoulio"), "{needs}");
    let found = said(Command::new(&linked).args(arguments))?;
    assert!(found.starts_with(reads), "{found}");

    // Only the names in the header may be visible from outside.
    let symbols = said(
        Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(&library),
    )?;
    let symbols: BTreeSet<_> = symbols
        .lines()
        .filter_map(|line| line.split_once(" T "))
        .map(|(_, name)| name.to_owned())
        .collect();
    let versioned = declared()?
        .into_iter()
        .map(|name| name + "@@JOULIO_0.1")
        .collect();
    assert_eq!(symbols, versioned);
    Ok(())
}

#[test]
fn a_wrong_option_of_install_installs_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let prefix = folder.path().join("prefix").display().to_string();
    for (arguments, says) in [
        (vec!["--prefx", "/x"], "--prefx is not an option"),
        (
            vec!["--prefix", &prefix, "--archive"],
            "--archive: a value is missing",
        ),
        (vec!["--prefix", "here"], "an absolute path"),
        (
            vec!["--prefix", &prefix, "--archive", "/nowhere/libjoulio.a"],
            "no such file",
        ),
    ] {
        let output = Command::new(here("install")).args(arguments).output()?;
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8(output.stderr)?;
        assert!(text.contains(says) && text.lines().count() == 1, "{text}");
        assert!(!Path::new(&prefix).exists());
    }
    Ok(())
}
