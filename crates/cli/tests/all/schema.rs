//! The JSON Schemas in docs/schema match the sources, and the command's output matches the schemas.

use crate::common::{joulio, json};
use joulio_lab::advise::AdviceReport;
use joulio_lab::stat::StatLine;
use joulio_lab::sweep::SweepReport;
use jsonschema::Validator;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const EMULATED: &str = "--device emulated:optane-900p,size=16M --number_ios 500 --machine generic-server \
                        --meter none --ramp_time 0";
const TWIN: &str = "--twin --machine xeon-6230 --device emulated:optane-p5800x --number_ios 500 --completion poll,interrupt";

fn kept(subcommand: &str) -> PathBuf {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    schemas.join(format!("{subcommand}.json"))
}

/// Returns the schema of the output of `subcommand`, which is a `T`.
fn made<T: JsonSchema>(subcommand: &str) -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = generator.into_generator().into_root_schema_for::<T>();
    schema.insert(
        "title".into(),
        format!("joulio {subcommand} --output json").into(),
    );
    let mut schema = schema.to_value();
    in_json_words(&mut schema);
    let text = serde_json::to_string_pretty(&schema).expect("a schema");
    text + "\n"
}

/// Adapts descriptions, which are the sources' doc comments: they say `null` instead of `None`, name what they link to,
/// and are on one line.
fn in_json_words(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "description" => {
                        let plain = text
                            .replace('\n', " ")
                            .replace("[`", "`")
                            .replace("`]", "`");
                        *text = plain
                            .replace("`None`", "`null`")
                            .replace("None:", "`null`:");
                    }
                    value => in_json_words(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(in_json_words),
        _ => {}
    }
}

fn check<T: JsonSchema>(subcommand: &str) {
    let (path, made) = (kept(subcommand), made::<T>(subcommand));
    if std::env::var_os("JOULIO_WRITE_SCHEMA").is_some() {
        fs::write(&path, &made).expect("written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "{}: make it anew: JOULIO_WRITE_SCHEMA=1 cargo test -p joulio --test all -- schema",
        path.display()
    );
}

#[test]
fn the_schemas_are_those_of_the_sources() {
    check::<SweepReport<'static>>("bench");
    check::<StatLine<'static>>("stat");
    check::<AdviceReport>("advise");
}

/// Makes `schema` refuse fields that it does not describe. Programs may meet fields of later versions, but this version
/// writes none.
fn strict(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(strict);
            if fields.contains_key("properties") {
                fields.insert("unevaluatedProperties".into(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strict),
        _ => {}
    }
}

fn schema(subcommand: &str) -> Validator {
    let text = fs::read_to_string(kept(subcommand)).expect("a schema");
    let mut schema = serde_json::from_str(&text).expect("JSON");
    strict(&mut schema);
    jsonschema::validator_for(&schema).expect("a schema")
}

#[track_caller]
fn assert_fits(schema: &Validator, document: &Value, line: &str) {
    let wrong: Vec<_> = schema.iter_errors(document).collect();
    let wrong = wrong
        .iter()
        .map(|error| format!("{}: {error}", error.instance_path()));
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{line}: {}", wrong.join("\n"));
}

#[test]
fn what_bench_prints_fits_its_schema() {
    let room = tempfile::tempdir().expect("a room");
    let file = room.path().join("file");
    fs::write(&file, vec![0; 1 << 20]).expect("a file");
    let on_file = format!(
        "--device {} --number_ios 100 --ramp_time 0 --engine psync,libaio --machine generic-server",
        file.display()
    );
    // Sections that run at the same time, and one after them.
    let jobs = room.path().join("jobs.fio");
    let sections = "[a]\nrw=read\n[b]\nrw=randread\nioengine=libaio\n[c]\nstonewall\n";
    let global = format!("[global]\nfilename={}\nsize=64k\n", file.display());
    fs::write(&jobs, global + sections).expect("written");
    let schema = schema("bench");
    for flags in [
        jobs.display().to_string(),
        format!("{EMULATED} --completion poll,interrupt,hybrid,adaptive"),
        format!("{EMULATED} --rw randrw --numjobs 2 --iodepth 4 --percentile_list 50:95"),
        format!("{EMULATED} --rw write --verify crc32c --allow-write"),
        // The shortest window: the only run here that takes a second.
        format!("{EMULATED} --completion poll --bs 4k:8k --numjobs 2 --window 1s"),
        // An open loop.
        format!("{EMULATED} --completion poll --rate_iops 20000"),
        // A sweep.
        format!("{EMULATED} --completion poll --iodepth 1,4 --bs 4k,8k"),
        format!("{TWIN} --replicates 3"),
        format!("{TWIN} --rate_iops 10000 --rate_process poisson"),
        // Kernel engines, and a mode that one of them does not support here.
        format!("{on_file} --completion interrupt"),
        format!("{on_file} --completion interrupt --numjobs 2 --process"),
    ] {
        for format in ["json", "json+"] {
            let line = format!("bench --output {format} {flags}");
            let document = json(&line);
            assert_eq!(document["version"], "1.0", "{line}");
            assert_fits(&schema, &document, &line);
        }
    }
}

#[test]
fn full_histograms_and_the_replicate_are_in_each_run() {
    let document = json(&format!("bench --output json+ {TWIN} --replicates 2"));
    let runs = document["runs"].as_array().expect("runs");
    let mut replicates: Vec<_> = runs.iter().map(|run| run["replicate"].as_u64()).collect();
    replicates.sort();
    assert_eq!(replicates, [Some(1), Some(1), Some(2), Some(2)]);
    for run in runs {
        let bins = run["read"]["latency_ns"]["bins"].as_object().expect("bins");
        let sum: u64 = bins.values().filter_map(Value::as_u64).sum();
        assert_eq!(Some(sum), run["read"]["ios"].as_u64());
    }
}

#[test]
fn what_does_not_fit_is_found() {
    let schema = schema("bench");
    let good = json(&format!("bench --output json {TWIN}"));
    let run = |key: &str, value: Value| {
        let mut document = good.clone();
        document["runs"][0][key] = value;
        document
    };
    let mut versionless = good.clone();
    versionless
        .as_object_mut()
        .expect("an object")
        .remove("version");
    for document in [
        versionless,
        run("iodepth", json!("four")),
        run("nobody_described", json!(1)),
        run("rw", json!("sideways")),
    ] {
        assert!(!schema.is_valid(&document), "{document:#}");
    }
    assert!(schema.is_valid(&good));
}

#[test]
fn what_stat_prints_fits_its_schema() {
    let schema = schema("stat");
    for line in [
        "stat --count 1 --meter none --output json",
        "stat --count 1 --meter none --model --output json",
        "stat --meter none --output json -- true",
    ] {
        let document = json(line);
        assert_eq!(document["version"], "1.0", "{line}");
        assert_fits(&schema, &document, line);
    }
}

#[test]
fn what_advise_prints_fits_its_schema() {
    let schema = schema("advise");
    for flags in ["", "--slo p99=100us", "--replicates 2"] {
        let line = format!(
            "advise --twin --machine xeon-6230 --device emulated:optane-p5800x \
                            --number_ios 300 --ramp_time 5ms -o json {flags}"
        );
        let output = joulio(&line).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        let document = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_fits(&schema, &document, &line);
    }
}
