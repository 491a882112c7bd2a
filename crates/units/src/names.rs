//! Names that a person mistyped.

use alloc::format;
use alloc::string::String;

/// Least similarity, out of 1, at which a name is proposed for another (Jaro and Winkler's).
const SIMILAR: f64 = 0.85;

/// Returns the known name that is most similar to `text`, if one is similar enough.
pub fn nearest<T: AsRef<str>>(text: &str, known: impl IntoIterator<Item = T>) -> Option<T> {
    let like = known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(text, name.as_ref()), name));
    let (similar, best) = like.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (similar >= SIMILAR).then_some(best)
}

/// Returns a proposal of the known name that is most similar to `text`, for a message: `did you mean poll? `, or empty.
pub fn proposal<T: AsRef<str>>(text: &str, known: impl IntoIterator<Item = T>) -> String {
    nearest(text, known).map_or_else(String::new, |near| {
        format!("did you mean {}? ", near.as_ref())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_name_is_proposed_and_an_unlike_one_is_not() {
        let known = ["poll", "poll-pause", "interrupt"];
        assert_eq!(nearest("pol", known), Some("poll"));
        assert_eq!(nearest("interupt", known), Some("interrupt"));
        assert_eq!(nearest("quartz", known), None);
        assert_eq!(nearest("poll", [""; 0]), None);
        assert_eq!(proposal("interupt", known), "did you mean interrupt? ");
        assert_eq!(proposal("quartz", known), "");
    }
}
