use super::*;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    table: Vec<TableSpec>,
    #[serde(default)]
    figure: Vec<FigureSpec>,
    #[serde(default)]
    observation: Vec<ObservationSpec>,
}

fn file(text: &str) -> Result<File, String> {
    toml_edit::de::from_str(text).map_err(|error| error.to_string())
}

/// Returns the problem of the only item in `text`.
fn problem(text: &str) -> String {
    let file = file(text).unwrap();
    let tables = file.table.iter().map(TableSpec::check);
    let figures = file.figure.iter().map(FigureSpec::check);
    let observations = file.observation.iter().map(ObservationSpec::check);
    let mut all = tables.chain(figures).chain(observations);
    all.next().unwrap().unwrap_err().to_string()
}

#[test]
fn values_are_one_or_a_list() {
    let file = file(
        r#"
        [[figure]]
        id = "F1a"
        title = "Bandwidth"
        kind = "lines"
        sweep = "main"
        where = { bs = "4k", numjobs = [1, "8"] }
        x = "numjobs"
        y = ["bytes_per_second", "watts"]
        series = "completion"
        "#,
    );
    let figure = &file.unwrap().figure[0];
    figure.check().unwrap();
    assert_eq!(figure.filter["numjobs"].values(), ["1", "8"]);
    assert_eq!(figure.y_metrics().len(), 2);
    assert!(figure.filter["bs"].has("4k") && !figure.filter["bs"].has("8k"));
}

#[test]
fn an_unknown_key_is_an_error_with_its_line() {
    let error = file("[[table]]\nid = \"T1\"\ntitle = \"\"\nrow = \"bs\"\n").unwrap_err();
    assert!(
        error.contains("line 4") && error.contains("`row`"),
        "{error}"
    );
    let error = file("[[observation]]\nid = \"O1\"\ntext = \"\"\n[[observation.rising]]\nsweep = \"s\"\nmetric = \"iop\"\nalong = \"bs\"\norder = []\n").unwrap_err();
    assert!(
        error.contains("line 6") && error.contains("no metric 'iop'"),
        "{error}"
    );
}

#[test]
fn what_a_kind_needs_or_has_no_use_for_is_named() {
    let figure = "[[figure]]\nid = \"F3\"\ntitle = \"\"\nsweep = \"s\"\nx = \"numjobs\"\n";
    let cases = [
        (
            "kind = \"best-tiles\"\ny = \"bs\"\nmetric = \"iops\"",
            "needs 'best'",
        ),
        (
            "kind = \"lines\"\ny = \"iops\"\nquadratic = true",
            "has no 'quadratic'",
        ),
        ("kind = \"lines\"\ny = \"iop\"", "no metric 'iop'"),
        ("kind = \"scatter\"\ny = \"watts\"", "no metric 'numjobs'"),
        ("kind = \"stacked\"", "needs 'part'"),
        (
            "kind = \"bars\"\ny = \"iops\"\nless = { factor = \"rw\", of = \"a\", less = \"b\" }",
            "has no 'less'",
        ),
    ];
    for (keys, hint) in cases {
        let found = problem(&format!("{figure}{keys}\n"));
        assert!(
            found.starts_with("figure 'F3': ") && found.contains(hint),
            "{found}"
        );
    }
    let table = "[[table]]\nid = \"T1\"\ntitle = \"\"\n";
    let cases = [
        ("rows = \"bs\"\nmetrics = [\"iops\"]", "needs 'sweep'"),
        (
            "sweep = \"s\"\nrows = \"bs\"\nmetrics = [\"iops\"]\nover = { rw = \"randread\" }",
            "'over' has 'rw'",
        ),
        ("kind = \"power-states\"", "needs 'device'"),
        (
            "kind = \"counts\"\nsweep = \"s\"\ncolumns = \"completion\"",
            "needs 'counts'",
        ),
    ];
    for (keys, hint) in cases {
        let found = problem(&format!("{table}{keys}\n"));
        assert!(
            found.starts_with("table 'T1': ") && found.contains(hint),
            "{found}"
        );
    }
    let nothing = problem("[[observation]]\nid = \"O9\"\ntext = \"So it is.\"\n");
    assert!(
        nothing.contains("nothing says whether it holds"),
        "{nothing}"
    );
}
