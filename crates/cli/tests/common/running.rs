//! A command that goes on.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout};

/// A command that prints an object a line, as it runs.
pub struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    /// With the words of `line`.
    pub fn begin(line: &str) -> Running {
        let mut child = super::begin(&format!("{line} --output json"));
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Running { child, lines }
    }

    /// The next line.
    pub fn line(&mut self) -> Value {
        let mut text = String::new();
        self.lines.read_line(&mut text).expect("a line");
        serde_json::from_str(&text).expect("an object a line")
    }

    /// The lines up to one that `ends`.
    pub fn until(&mut self, ends: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut lines = Vec::new();
        for _ in 0..30 {
            lines.push(self.line());
            if ends(lines.last().expect("one")) {
                return lines;
            }
        }
        panic!("it does not come: {lines:#?}");
    }

    /// Interrupts it: it ends well.
    pub fn end(mut self) {
        super::interrupt(&self.child);
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).expect("read");
        let output = self.child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}
