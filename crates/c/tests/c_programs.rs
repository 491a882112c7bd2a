//! joulio.h matches the sources, and C programs that use all of it run as documented, under valgrind too if it is
//! installed.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn the_header_is_that_of_the_sources() -> Result<()> {
    let folder = here("");
    let config = cbindgen::Config::from_root_or_default(&folder);
    let bindings = cbindgen::generate_with_config(&folder, config)?;
    let mut made = Vec::new();
    bindings.write(&mut made);
    let kept = here("include/joulio.h");
    if std::env::var_os("JOULIO_WRITE_HEADER").is_some() {
        std::fs::write(&kept, &made)?;
    }
    let kept = std::fs::read_to_string(kept)?;
    assert_eq!(
        kept,
        String::from_utf8(made)?,
        "make it anew: JOULIO_WRITE_HEADER=1 cargo test -p joulio-c"
    );
    Ok(())
}

/// Compiles `source` into `folder` and links it with the library that this test was built with.
fn compile(source: &str, folder: &Path) -> Result<PathBuf> {
    let program = folder.join("program");
    let library = std::env::current_exe()?;
    let library = library.parent().ok_or("a program without a folder")?;
    let built = Command::new("gcc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-g"])
        .arg("-I")
        .arg(here("include"))
        .arg(here(source))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(library)
        // Before LD_LIBRARY_PATH, where cargo names a folder that may have an older library.
        .arg(format!(
            "-Wl,--disable-new-dtags,-rpath,{}",
            library.display()
        ))
        .arg("-ljoulio")
        .output()?;
    succeeded(&built)?;
    Ok(program)
}

fn succeeded(output: &Output) -> Result<String> {
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.success() {
        true => Ok(said.into_owned()),
        false => Err(format!(
            "{}: {said}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
        .into()),
    }
}

/// Compiles and runs `source`, which counts the claims that do not hold; in the whole gate also under valgrind, if
/// installed, which takes most of the tests' time.
fn all_claims_hold(source: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = compile(source, folder.path())?;
    let said = succeeded(&Command::new(&program).output()?)?;
    assert_eq!(said, "0 claims do not hold\n");
    let thorough = std::env::var_os("JOULIO_THOROUGH").is_some();
    if thorough && Command::new("valgrind").arg("--version").output().is_ok() {
        let mut checked = Command::new("valgrind");
        checked
            .args(["-q", "--error-exitcode=9", "--fair-sched=yes"])
            .args(["--leak-check=full", "--errors-for-leak-kinds=definite"])
            .arg(&program);
        assert_eq!(succeeded(&checked.output()?)?, said);
    }
    Ok(())
}

#[test]
fn a_c_program_finds_queues_and_buffers_as_the_header_says() -> Result<()> {
    all_claims_hold("tests/claims.c")
}

#[test]
fn a_c_program_finds_controllers_as_the_header_says() -> Result<()> {
    all_claims_hold("tests/opening.c")
}

#[test]
fn a_c_program_finds_admin_commands_as_the_header_says() -> Result<()> {
    all_claims_hold("tests/admin.c")
}

#[test]
fn a_c_program_finds_memory_and_lists_as_the_header_says() -> Result<()> {
    all_claims_hold("tests/memory.c")
}

#[test]
fn a_c_program_finds_groups_as_the_header_says() -> Result<()> {
    all_claims_hold("tests/groups.c")
}

#[test]
fn a_c_program_finds_ended_and_inherited_handles_as_the_header_says() -> Result<()> {
    all_claims_hold("tests/handles.c")
}

#[test]
fn a_c_program_finds_volumes_and_files_as_the_header_says() -> Result<()> {
    all_claims_hold("tests/volumes.c")
}

#[test]
fn the_example_reads_by_every_completion_mode_of_a_queue() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = compile("examples/read.c", folder.path())?;
    for mode in ["poll", "interrupt", "hybrid", "adaptive"] {
        let said = succeeded(
            &Command::new(&program)
                .args(["emulated:instant", mode, "500"])
                .output()?,
        )?;
        let begin = format!("emulated:instant, {mode}: 500 reads, 0 failed; ");
        assert!(said.starts_with(&begin), "{said}");
    }
    let wrong = Command::new(&program)
        .args(["emulated:instant", "pol", "1"])
        .output()?;
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8(wrong.stderr)?.starts_with("read: "));
    Ok(())
}
