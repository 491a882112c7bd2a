use super::*;
use std::os::unix::fs::symlink;
use tempfile::{TempDir, tempdir};

fn room() -> TempDir {
    tempdir().unwrap()
}

/// Returns the names and texts of the files in `room`.
fn files(room: &TempDir) -> Vec<(OsString, String)> {
    let entries = fs::read_dir(room).unwrap().map(Result::unwrap);
    let mut files: Vec<_> = entries
        .filter(|entry| entry.path().is_file())
        .map(|entry| (entry.file_name(), fs::read_to_string(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

fn refusal(path: &Path, existing: Existing) -> String {
    OutputFile::open(path, existing).unwrap_err().to_string()
}

#[test]
fn nothing_is_there_before_it_is_written_and_then_all_of_it() {
    let room = room();
    let path = room.path().join("out");
    let file = OutputFile::open(&path, Existing::Keep).unwrap();
    assert_eq!(files(&room), []);
    file.write("text").unwrap();
    assert_eq!(files(&room), [("out".into(), "text".into())]);
}

#[test]
fn a_file_that_is_there_is_kept_unless_it_may_be_replaced() {
    let room = room();
    let path = room.path().join("out");
    fs::write(&path, "something longer").unwrap();
    assert!(refusal(&path, Existing::Keep).contains("--force"));
    let file = OutputFile::open(&path, Existing::Replace).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "something longer");
    file.write("new").unwrap();
    file.write("newer").unwrap();
    assert_eq!(files(&room), [("out".into(), "newer".into())]);
}

#[test]
fn a_file_that_came_meanwhile_is_kept() {
    let room = room();
    let path = room.path().join("out");
    let file = OutputFile::open(&path, Existing::Keep).unwrap();
    fs::write(&path, "theirs").unwrap();
    assert!(matches!(
        file.write("ours"),
        Err(OutputFileError::Exists { .. })
    ));
    assert_eq!(files(&room), [("out".into(), "theirs".into())]);
}

#[test]
fn a_replaced_file_keeps_its_rights_and_the_link_to_it() {
    let room = room();
    let (path, link) = (room.path().join("out"), room.path().join("link"));
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    symlink("out", &link).unwrap();
    let file = OutputFile::open(&link, Existing::Replace).unwrap();
    file.write("new").unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o640);
    file.for_all().write("for all").unwrap();
    assert_eq!(mode(&path), 0o644);
}

#[test]
fn what_is_no_place_for_a_file_is_reported_before_the_work() {
    let room = room();
    symlink("nowhere", room.path().join("dangling")).unwrap();
    fs::write(room.path().join("file"), "").unwrap();
    for (path, hint) in [
        ("", "is a directory"),
        ("new/", "no name of a file"),
        ("no/such/place", "there is no folder"),
        ("dangling", "a link to nothing"),
        ("file/below", "cannot write"),
    ] {
        let path = room.path().join(path);
        for existing in [Existing::Keep, Existing::Replace] {
            let said = refusal(&path, existing);
            assert!(said.contains(hint), "{}: {said}", path.display());
        }
    }
    assert_eq!(files(&room), [("file".into(), "".into())]);
}

#[test]
fn a_stream_is_written_as_it_is() {
    let full = OutputFile::open(Path::new("/dev/full"), Existing::Keep).unwrap();
    let said = full.write("text").unwrap_err().to_string();
    assert!(said.contains("/dev/full") && said.contains("No space left"));
    let null = OutputFile::open(Path::new("/dev/null"), Existing::Keep).unwrap();
    null.write("text").unwrap();
}

#[test]
fn a_name_may_be_as_long_as_names_are() {
    let room = room();
    let path = room.path().join("n".repeat(255));
    let file = OutputFile::open(&path, Existing::Keep).unwrap();
    file.write("text").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "text");
}

#[test]
fn what_killed_commands_have_left_is_removed_and_what_is_being_written_is_not() {
    let room = room();
    let path = room.path().join("out");
    let written = beside(&path).unwrap();
    let being_written = written.path().file_name().unwrap().to_os_string();
    let kept = [
        ".otherAbC123.joulio.new",
        ".outAbC12.joulio.new",
        // A file of another program.
        ".outbackup.new",
    ];
    for name in kept.iter().chain(&[".outAbC123.joulio.new"]) {
        fs::write(room.path().join(name), "half").unwrap();
    }
    symlink("nowhere", room.path().join(".outAbC999.joulio.new")).unwrap();
    let file = OutputFile::open(&path, Existing::Keep).unwrap();
    file.write("text").unwrap();
    let names: Vec<_> = files(&room).into_iter().map(|(name, _)| name).collect();
    let mut kept: Vec<OsString> = kept.map(OsString::from).into();
    kept.extend(["out".into(), being_written]);
    kept.sort();
    assert_eq!(names, kept);
}

#[test]
fn two_paths_to_one_file_are_the_same_file_before_and_after_it_is_made() {
    let room = room();
    let at = |name: &str| room.path().join(name);
    fs::create_dir(at("folder")).unwrap();
    symlink(at("folder"), at("link")).unwrap();
    let (one, other) = (at("folder/out"), at("link/../link/out"));
    assert!(same_file(&one, &other));
    assert!(!same_file(&one, &at("out")));
    assert!(!same_file(&one, &at("no folder/out")));
    fs::write(&one, "").unwrap();
    assert!(same_file(&one, &other));
    assert!(!same_file(&one, &at("out")));
    symlink(&one, at("out")).unwrap();
    assert!(same_file(&one, &at("out")));
    fs::write(at("folder/another"), "").unwrap();
    assert!(!same_file(&one, &at("folder/another")));
}

#[test]
fn a_link_is_replaced_where_it_is_not_to_be_followed() {
    let room = room();
    let (elsewhere, path) = (room.path().join("elsewhere"), room.path().join("out"));
    fs::write(&elsewhere, "as it was").unwrap();
    symlink(&elsewhere, &path).unwrap();
    for text in ["new", "newer"] {
        replace(&path, text).unwrap();
        let expected = [
            ("elsewhere".into(), "as it was".into()),
            ("out".into(), text.into()),
        ];
        assert_eq!(files(&room), expected);
    }
    assert!(!path.is_symlink());
}
