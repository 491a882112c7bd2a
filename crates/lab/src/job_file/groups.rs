//! Groups of sections: the sections of a group begin together, and the next group begins when all of them have ended.

use super::error::JobFileError;
use super::sections::{Given, Section};

/// Divides `sections` into groups as fio runs them. `all` are the names of the file's sections, including those that
/// were not chosen.
pub(super) fn groups(
    sections: Vec<Section>,
    all: &[String],
) -> Result<Vec<Vec<Section>>, JobFileError> {
    let mut groups: Vec<Vec<Section>> = Vec::new();
    // Name of the section whose wait_for began the last group.
    let mut waiting: Option<String> = None;
    for section in sections {
        let waits = waits(&section, groups.last(), all)?;
        match groups.last_mut() {
            Some(group) if !section.is_after_all() && !waits => {
                if let Some(before) = &waiting {
                    return Err(JobFileError::Section {
                        line: section.line,
                        problem: format!(
                            "begins before [{before}] in fio: write it above that, or stonewall into it"
                        ),
                        name: section.name,
                    });
                }
                group.push(section);
            }
            _ => {
                let by_name = waits && !section.is_after_all();
                waiting = by_name.then(|| section.name.clone());
                groups.push(vec![section]);
            }
        }
    }
    Ok(groups)
}

/// Returns true if `section` should begin after all of `group`, the last one so far, has ended.
fn waits(
    section: &Section,
    group: Option<&Vec<Section>>,
    all: &[String],
) -> Result<bool, JobFileError> {
    let Some(given) = section.find("wait_for") else {
        return Ok(false);
    };
    let name = given.value.as_deref().unwrap_or_default();
    let refused = |why: &str| Err(Given::refused(given, why));
    if !all.iter().any(|other| other == name) {
        return refused("there is no section of that name");
    }
    match group.map(Vec::as_slice) {
        Some([only]) if only.name == name => Ok(true),
        Some(several) if several.iter().any(|one| one.name == name) => refused(
            "other sections run at the same time and may go on after it: use stonewall instead",
        ),
        // That section has ended by then.
        _ => Ok(false),
    }
}
