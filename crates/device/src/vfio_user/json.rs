//! JSON that another process wrote, read as far as the client needs it: members of objects, and whole numbers.
//!
//! A parser of its own, so that a program that links the driver gets neither serde nor serde_json. It accepts what
//! serde_json accepts, and a property test compares the two.

use std::str::Chars;

/// Maximum number of arrays and objects within each other, as in serde_json.
const MAX_DEPTH: usize = 127;

/// A JSON value, without the contents that nobody reads.
#[derive(Debug, PartialEq)]
pub(super) enum Json {
    /// Object with its members in the order of the text.
    Object(Vec<(String, Json)>),
    /// Number without sign, fraction and exponent.
    Whole(u64),
    /// Value of any other kind.
    Other,
}

impl Json {
    /// Reads a text that is one JSON value; `None` if it is not.
    pub(super) fn parse(text: &[u8]) -> Option<Json> {
        let mut reader = Reader {
            rest: str::from_utf8(text).ok()?.chars(),
        };
        let value = reader.value(MAX_DEPTH)?;
        reader.skip_space();
        reader.rest.next().is_none().then_some(value)
    }

    /// Returns an object's member; the last one, if several have that name.
    pub(super) fn member(&self, name: &str) -> Option<&Json> {
        let Json::Object(members) = self else {
            return None;
        };
        let named = members.iter().rfind(|(of, _)| of == name);
        named.map(|(_, value)| value)
    }

    /// Returns the number, if it is one from 0 to `u64::MAX`.
    pub(super) fn whole_number(&self) -> Option<u64> {
        match self {
            Json::Whole(number) => Some(*number),
            _ => None,
        }
    }
}

/// Reader of a text from its beginning; `None` from any function means that the text is not JSON.
struct Reader<'a> {
    rest: Chars<'a>,
}

impl Reader<'_> {
    /// Reads a value in which `depth` arrays and objects may still be within each other.
    fn value(&mut self, depth: usize) -> Option<Json> {
        self.skip_space();
        match self.peek()? {
            '{' => self.object(depth.checked_sub(1)?),
            '[' => self.array(depth.checked_sub(1)?),
            '"' => self.string().map(|_| Json::Other),
            't' => self.word("true"),
            'f' => self.word("false"),
            'n' => self.word("null"),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.expect('{')?;
        let mut members = Vec::new();
        self.skip_space();
        if self.skip('}') {
            return Some(Json::Object(members));
        }
        loop {
            self.skip_space();
            let name = self.string()?;
            self.skip_space();
            self.expect(':')?;
            members.push((name, self.value(depth)?));
            self.skip_space();
            if !self.skip(',') {
                self.expect('}')?;
                return Some(Json::Object(members));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Json> {
        self.expect('[')?;
        self.skip_space();
        if self.skip(']') {
            return Some(Json::Other);
        }
        loop {
            self.value(depth)?;
            self.skip_space();
            if !self.skip(',') {
                self.expect(']')?;
                return Some(Json::Other);
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.expect('"')?;
        let mut string = String::new();
        loop {
            match self.rest.next()? {
                '"' => return Some(string),
                '\\' => string.push(self.escaped()?),
                '\0'..='\u{1f}' => return None,
                other => string.push(other),
            }
        }
    }

    /// Reads what follows a backslash.
    fn escaped(&mut self) -> Option<char> {
        match self.rest.next()? {
            same @ ('"' | '\\' | '/') => Some(same),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => self.code_point(),
            _ => None,
        }
    }

    /// Reads the digits of a code point, which may be the two halves of a surrogate pair.
    fn code_point(&mut self) -> Option<char> {
        let first = self.four_digits()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        self.expect('\\')?;
        self.expect('u')?;
        let second = self.four_digits()?;
        let low = (0xdc00..0xe000).contains(&second);
        let point = 0x10000 + (((first & 0x3ff) << 10) | (second & 0x3ff));
        low.then_some(point).and_then(char::from_u32)
    }

    fn four_digits(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |so_far: u32, _| {
            Some((so_far << 4) | self.rest.next()?.to_digit(16)?)
        })
    }

    fn number(&mut self) -> Option<Json> {
        let text = self.rest.as_str();
        let negative = self.skip('-');
        if !self.skip('0') {
            self.digits()?;
        }
        let fraction = self.skip('.');
        if fraction {
            self.digits()?;
        }
        let exponent = self.skip('e') || self.skip('E');
        if exponent {
            let _sign = self.skip('+') || self.skip('-');
            self.digits()?;
        }
        let text = &text[..text.len() - self.rest.as_str().len()];
        // serde_json refuses what is larger than any f64.
        let number = text.parse::<f64>().ok()?;
        if !number.is_finite() {
            return None;
        }
        if negative || fraction || exponent {
            return Some(Json::Other);
        }
        Some(text.parse().map_or(Json::Other, Json::Whole))
    }

    /// Reads one digit or more.
    fn digits(&mut self) -> Option<()> {
        let before = self.rest.as_str();
        let after = before.trim_start_matches(|digit: char| digit.is_ascii_digit());
        self.rest = after.chars();
        (after.len() < before.len()).then_some(())
    }

    fn word(&mut self, word: &str) -> Option<Json> {
        self.rest = self.rest.as_str().strip_prefix(word)?.chars();
        Some(Json::Other)
    }

    fn skip_space(&mut self) {
        let text = self.rest.as_str();
        self.rest = text.trim_start_matches([' ', '\t', '\n', '\r']).chars();
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    /// Reads `character` if it is the next one.
    fn skip(&mut self, character: char) -> bool {
        let next = self.peek() == Some(character);
        if next {
            self.rest.next();
        }
        next
    }

    fn expect(&mut self, character: char) -> Option<()> {
        self.skip(character).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::{Index, select};
    use serde_json::{Map, Value};

    /// Converts as the parser should have read.
    fn expected(value: &Value) -> Json {
        match value {
            Value::Object(members) => {
                let members = members.iter();
                let members = members.map(|(name, value)| (name.clone(), expected(value)));
                Json::Object(members.collect())
            }
            other => other.as_u64().map_or(Json::Other, Json::Whole),
        }
    }

    /// Asserts that both read a text as the same value, or refuse it.
    fn assert_same(text: &[u8]) {
        let theirs: Option<Value> = serde_json::from_slice(text).ok();
        let ours = Json::parse(text).map(unique);
        assert_eq!(
            ours,
            theirs.as_ref().map(expected),
            "{}",
            text.escape_ascii()
        );
    }

    /// Keeps the last of the members of one name, in the place of the first, as serde_json does.
    fn unique(json: Json) -> Json {
        let Json::Object(members) = json else {
            return json;
        };
        let mut kept: Vec<(String, Json)> = Vec::new();
        for (name, value) in members {
            let value = unique(value);
            match kept.iter_mut().find(|(of, _)| *of == name) {
                Some(earlier) => earlier.1 = value,
                None => kept.push((name, value)),
            }
        }
        Json::Object(kept)
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let name = select(vec!["a", "b", "\"\\\n", "\u{1f600}"]);
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                vec((name, inner), 0..4).prop_map(|members| {
                    let members = members.into_iter();
                    let members = members.map(|(name, value)| (String::from(name), value));
                    Value::from(members.collect::<Map<_, _>>())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_text_is_read_as_by_serde_json(value in value(), pretty in any::<bool>()) {
            let text = match pretty {
                true => serde_json::to_vec_pretty(&value).unwrap(),
                false => serde_json::to_vec(&value).unwrap(),
            };
            prop_assert!(Json::parse(&text).is_some());
            assert_same(&text);
        }

        #[test]
        fn a_damaged_text_is_judged_as_by_serde_json(
            value in value(),
            changes in vec((any::<Index>(), select(b"{}[]\",:\\u0e+-.7 dtn\xc3".to_vec())), 1..4),
        ) {
            let mut text = serde_json::to_vec(&value).unwrap();
            for (at, byte) in changes {
                let at = at.index(text.len());
                text[at] = byte;
            }
            assert_same(&text);
        }
    }

    #[test]
    fn odd_texts_are_judged_as_by_serde_json() {
        for text in [
            "",
            " ",
            "0",
            "-0",
            "00",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "1e+",
            "1E-2",
            "18446744073709551615",
            "18446744073709551616",
            "1e999",
            "-1e999",
            "1e-999",
            "+1",
            "tru",
            "true1",
            "nullnull",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a:1}",
            "{,}",
            "[1,]",
            "[1 2]",
            "[",
            "{\"a\":1,\"b\":2,\"a\":{}}",
            "{\"\\u0061\":3}",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\ude00\"",
            "\"\\ud83d\\n\"",
            "\"\\ud83dx\"",
            "\"\\u12g4\"",
            "\"\\u+123\"",
            "\"\\x\"",
            "\"\t\"",
            "\"\u{7f}\"",
            "\u{a0}1",
            "\u{b}1",
            "\u{feff}1",
            " \t\r\n1 \t\r\n",
        ] {
            assert_same(text.as_bytes());
        }
        for depth in [126, 127, 128, 129, 2000] {
            assert_same(&[vec![b'['; depth], vec![b']'; depth]].concat());
        }
    }

    #[test]
    fn the_last_member_of_a_name_counts() {
        let json = Json::parse(b"{\"a\":1,\"a\":2}").unwrap();
        let number = |name| json.member(name).and_then(Json::whole_number);
        assert_eq!((number("a"), number("b")), (Some(2), None));
        assert!(Json::Whole(1).member("a").is_none());
        assert!(Json::Other.whole_number().is_none());
    }
}
