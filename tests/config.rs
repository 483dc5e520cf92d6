//! Configurations as files: every one in `testdata/config/good` compiles, every one in `bad` gives exactly its `.err`.
//! Adding a case is adding a file; `WEIR_BLESS=1 cargo test --test config` writes the expectations to look through.

// Clippy knows the functions that carry #[test], not those that help them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use weir::config::plan::Plan;
use weir::config::schema::{self, Field, Form};
use weir::config::{Errors, parse};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/config").join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

fn expect(file: &Path, actual: &str) {
    if std::env::var_os("WEIR_BLESS").is_some() {
        fs::write(file, actual).unwrap();
    }
    let expected = fs::read_to_string(file).unwrap_or_default();
    assert_eq!(actual, expected, "{}", file.display());
}

#[test]
fn every_good_file_compiles() {
    for file in files("good") {
        if let Err(errors) = parse(&fs::read(&file).unwrap()) {
            panic!("{}:\n{errors}", file.display());
        }
    }
}

#[test]
fn every_bad_file_gives_exactly_its_errors() {
    for file in files("bad") {
        let errors = parse(&fs::read(&file).unwrap()).expect_err(&file.display().to_string());
        expect(&file.with_extension("err"), &format!("{errors}\n"));
    }
}

// --- weir check, weir schema

fn weir(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn check_says_a_good_file_in_words() {
    for file in files("good") {
        let name = format!("testdata/config/good/{}", file.file_name().unwrap().to_str().unwrap());
        let output = weir(&["check", &name]);
        assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{name}");
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(out.starts_with(&format!("{name}: valid\n")) && out.ends_with('\n'), "{out}");
        if file.with_extension("out").exists() {
            expect(&file.with_extension("out"), &out);
        }
    }
}

#[test]
fn check_prints_what_the_filter_would_log() {
    let name = "testdata/config/bad/rules.json";
    let output = weir(&["check", name]);
    let errors = parse(&fs::read(name).unwrap()).unwrap_err();
    let lines: String = errors.iter().map(|error| format!("{name}: {error}\n")).collect();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!((output.stdout, String::from_utf8(output.stderr).unwrap()), (vec![], lines));
}

#[test]
fn check_tells_what_it_cannot_read_from_what_is_wrong() {
    for (arguments, status) in [
        (&["check", "testdata/config/absent.json"][..], 2),
        (&["check", "testdata"], 2),
        (&["check"], 2),
        (&["chekc", "x"], 2),
        (&[], 2),
        (&["check", "-"], 0), // an empty standard input is the empty configuration
        (&["--help"], 0),
    ] {
        assert_eq!(weir(arguments).status.code(), Some(status), "{arguments:?}");
    }
}

#[test]
fn the_readme_has_the_reference_of_this_version() {
    let reference = String::from_utf8(weir(&["schema"]).stdout).unwrap();
    assert_eq!(reference.lines().count(), schema::fields().count() + 2);
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap_or_default();
    if let Some((_, rest)) = readme.split_once("<!-- schema:begin -->") {
        let (shown, _) = rest.split_once("<!-- schema:end -->").expect("schema:end after schema:begin");
        assert_eq!(shown.trim(), reference.trim(), "paste the output of `weir schema` between the markers");
    }
}

// --- The table of fields tells the truth

/// A sound configuration in which every list has an element.
fn base() -> Value {
    json!({
        "exempt": [{"path": "/healthz"}],
        "consumer": {"from": [{"header": "x-api-key"}]},
        "network": {"asn": {"filter_state": "weir.asn"}},
        "fingerprints": {ROUTE: {"filter_state": "weir.tool"}},
        "policy": {"tiers": [{"min_score": 60, "action": "throttle"}]},
        "rules": [{"name": "a", "filter": {"max_req_rate": 5, "fingerprints": {ROUTE: ["a"]}}, "action": ["throttle"]}]
    })
}

/// Sections that switch a detector on by being there.
const DETECTORS: [&str; 4] = ["volume", "wallet", "loop_breaker", "first_sighting"];

/// The base, with the section of a field that belongs to a detector.
fn base_of(field: &Field) -> Value {
    let mut document = base();
    let section = field.path.split('.').next().unwrap();
    if DETECTORS.contains(&section) {
        document[section] = json!({});
    }
    document
}

/// A name that the operator gave.
const ROUTE: &str = "checkout";

/// The base with `value` at a field.
fn with(field: &Field, value: Value) -> Value {
    let mut document = base_of(field);
    let mut at = &mut document;
    for step in field.path.split('.') {
        at = match step.strip_suffix("[]") {
            Some(list) => &mut at[list][0],
            None => &mut at[if step == "*" { ROUTE } else { step }],
        };
    }
    *at = value;
    document
}

fn compiled(document: &Value) -> Result<Plan, Errors> {
    parse(document.to_string().as_bytes())
}

#[test]
fn every_field_of_the_table_is_read() {
    for field in schema::fields() {
        let errors = compiled(&with(field, json!({"nothing": "like it"}))).expect_err(field.path);
        let place = field.path.replace("[]", "[0]").replace('*', ROUTE);
        assert!(errors.iter().any(|error| error.place() == place), "{place} is not among:\n{errors}");
    }
}

#[test]
fn every_field_may_be_null_unless_it_is_required() {
    for field in schema::fields() {
        let plan = compiled(&with(field, Value::Null));
        assert_eq!(plan.is_err(), is_required(field), "{}", field.path);
    }
}

/// In the base, the fields that stand for one of several are required too.
fn is_required(field: &Field) -> bool {
    let required = field.form.default().contains("required");
    required
        && !matches!(
            field.path,
            "exempt[].path_prefix"
                | "consumer.from[].cookie"
                | "consumer.from[].query"
                | "fingerprints.*.header"
        )
}

#[test]
fn every_default_of_the_table_is_what_absence_means() {
    for field in schema::fields() {
        let default = match &field.form {
            Form::Switch { default } => json!(default),
            Form::Choice { words, default } if words.contains(default) => json!(default),
            Form::Count(range) | Form::Number(range) => json!(range.default),
            Form::Text { default: "client", .. } => json!("client"),
            _ => continue,
        };
        assert_eq!(compiled(&with(field, default)), compiled(&base_of(field)), "{}", field.path);
    }
}

#[test]
fn every_range_of_the_table_is_enforced() {
    for field in schema::fields() {
        let (Form::Count(range) | Form::Number(range)) = &field.form else { continue };
        for (number, is_in) in [
            (range.min, true),
            (range.max, true),
            (range.min - range.min.max(1.0) / 2.0, false),
            (range.max + 1.0, false),
        ] {
            assert_eq!(compiled(&with(field, json!(number))).is_ok(), is_in, "{} = {number}", field.path);
        }
    }
}

#[test]
fn every_word_of_the_table_is_known() {
    for field in schema::fields() {
        let Form::Choice { words, .. } = &field.form else { continue };
        for word in *words {
            assert!(compiled(&with(field, json!(word))).is_ok(), "{} = {word}", field.path);
        }
    }
}

// --- Properties

/// A sound configuration, with whole numbers wherever numbers may be.
fn sound() -> impl Strategy<Value = Value> {
    let rule = (1u32..=1_000_000, 1u32..=1_000, any::<bool>(), 0usize..6);
    let rules = proptest::collection::vec(rule, 0..6);
    (1u8..=32, 1u8..=128, 1_024u32..=300_000, 10u32..=10_000, rules).prop_map(|(v4, v6, slots, ms, rules)| {
        let key = |i: usize| ["client", "consumer", "network", "route", "header:X", "cookie:c"][i];
        let rules = rules.iter().enumerate().map(|(i, &(rate, multiplier, enabled, k))| {
            json!({"name": format!("r{i}"), "enabled": enabled, "action": ["throttle"],
                   "filter": {"max_req_rate": rate, "req_burst_multiplier": multiplier, "key": key(k)}})
        });
        json!({"client": {"ipv4_prefix": v4, "ipv6_prefix": v6}, "tables": {"slots": slots},
               "consumer": {"from": [{"header": "authorization"}]},
               "network": {"asn": {"filter_state": "weir.asn"}},
               "traffic": {"bucket_seconds": v4, "learning_buckets": 10 + u32::from(v6), "routes": {"a": {"route_weight": v4}}},
               "volume": {"threshold": 50 + u32::from(v4), "tick_seconds": v4}, "loop_breaker": {"threshold": 1 + u32::from(v4)},
               "policy": {"tiers": [{"min_score": v4, "action": "block"}], "ban": {"never": ["network:1"]}},
               "workers": {"exchange_ms": ms}, "events": {"log_interval_seconds": 7}, "rules": rules.collect::<Value>()})
    })
}

/// The same text with every number a double and the keys in another order, as Istio delivers it.
fn as_istio_writes(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(",");
    match value {
        Value::Number(number) => format!("{:?}", number.as_f64().unwrap()),
        Value::Array(items) => format!("[{}]", list(items.iter().map(as_istio_writes).collect())),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| format!("{key:?}:{}", as_istio_writes(value));
            format!("{{{}}}", list(members.iter().rev().map(member).collect()))
        }
        other => other.to_string(),
    }
}

/// Any tree, over the words that the reader knows and some that it does not.
fn any_tree() -> impl Strategy<Value = Value> {
    let mut words: Vec<String> = schema::fields()
        .flat_map(|field| field.path.split(['.', '[', ']']).map(str::to_owned))
        .chain(["policy", "tiers", "traffic", "fingerprints", "webhook", "max_conn_rate"].map(str::to_owned))
        .filter(|word| !word.is_empty())
        .collect();
    words.sort();
    words.dedup();
    let text = prop_oneof![
        "[a-z/*.:0-9]{0,12}",
        any::<String>(),
        proptest::sample::select(
            &["6/m", "client", "10.0.0.0/8", "::/0", "/a", "*.a.b", "GET", "header:a", "log"][..]
        )
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0u8..200).prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 120, 12, move |inner| {
        let key = prop_oneof![8 => proptest::sample::select(words.clone()), 1 => any::<String>()];
        prop_oneof![
            1 => proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => proptest::collection::vec((key, inner), 0..8)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// A tree at the place of one field, so that its reader meets everything.
fn tree_at_a_field() -> impl Strategy<Value = Value> {
    let field = proptest::sample::select(schema::fields().collect::<Vec<_>>());
    (field, any_tree()).prop_map(|(field, tree)| with(field, tree))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_bytes_are_a_plan_or_errors(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Err(errors) = parse(&bytes) {
            prop_assert!(!errors.is_empty() && !errors.to_string().is_empty());
        }
    }

    #[test]
    fn any_json_is_a_plan_or_errors(tree in prop_oneof![any_tree(), tree_at_a_field()]) {
        if let Err(errors) = compiled(&tree) {
            // One line each, whatever the operator's text contains: they go to a log.
            prop_assert_eq!(errors.to_string().lines().count(), errors.iter().count() + usize::from(errors.len() > 100));
        }
    }

    #[test]
    fn doubles_in_any_order_are_the_same_plan(document in sound()) {
        let plan = compiled(&document);
        prop_assert!(plan.is_ok(), "{:?}", plan);
        prop_assert_eq!(parse(as_istio_writes(&document).as_bytes()), plan);
    }
}
