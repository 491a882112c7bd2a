//! Credentials by host: `~/.netrc`, as curl and ftp use it.

/// A name and its password.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: String,
}

/// Finds the login for `host` in the text of a netrc: the one of its `machine`, or of `default`.
pub(super) fn login(text: &str, host: &str) -> Option<Login> {
    let mut words = text.lines().flat_map(|line| {
        // A `#` begins a comment only at the start of a line: passwords contain it too.
        let comment = line.trim_start().starts_with('#');
        if comment { "" } else { line }.split_whitespace()
    });
    let (mut ours, mut user, mut password) = (false, None, None);
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if ours && user.is_some() && password.is_some() {
                    break;
                }
                ours = word == "default" || words.next() == Some(host);
                (user, password) = (None, None);
            }
            "login" if ours => user = words.next(),
            "password" if ours => password = words.next(),
            "login" | "password" | "account" => {
                words.next();
            }
            // The end of a macro's body cannot be found here.
            "macdef" => break,
            _ => {}
        }
    }
    Some(Login {
        user: user?.to_owned(),
        password: password?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# mine\nmachine other login a password b\n\
        machine bmc\n  login root\n  account x\n  password ca#lvin\nmachine bmc2 login c\ndefault login d password e\n";

    fn words(host: &str) -> Option<(String, String)> {
        login(FILE, host).map(|login| (login.user, login.password))
    }

    #[test]
    fn each_host_has_its_own() {
        assert_eq!(words("bmc"), Some(("root".into(), "ca#lvin".into())));
        assert_eq!(words("other"), Some(("a".into(), "b".into())));
    }

    #[test]
    fn the_rest_have_the_default() {
        assert_eq!(words("unknown"), Some(("d".into(), "e".into())));
        assert!(login("machine bmc login a", "bmc").is_none());
        assert!(login("", "bmc").is_none());
    }
}
