//! JSON Logic against json-logic-js itself: `corpus/jsonlogic/outcomes.json` holds what the npm package made of the community's
//! suites, of every pair of values that JavaScript converts in its own way, and of three thousand random rules. What differs is
//! listed in DEVIATIONS.toml, strict both ways.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use wfhost_guest::json;
use wfhost_guest::value::Value;
use wfhost_jsonlogic::{Budget, OPERATIONS, Rule};
use wfhost_tests::lab::{PROBE, load};

/// A rule with its data, and what json-logic-js makes of it: a list of one value, or the text of an error.
struct Case {
    name: String,
    rule: Json,
    data: Json,
    outcome: Json,
    /// What the suite's authors want: a value, or none for an error.
    wanted: Option<Json>,
}

impl Case {
    /// It uses only operations that json-logic-js has.
    fn is_classic(&self) -> bool {
        fn classic(rule: &Json) -> bool {
            match rule {
                Json::Array(items) => items.iter().all(classic),
                Json::Object(map) if map.len() == 1 => {
                    map.iter().all(|(name, values)| OPERATIONS.contains(&name.as_str()) && classic(values))
                }
                _ => true,
            }
        }
        classic(&self.rule)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/jsonlogic")
}

fn read(path: &Path) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The cases of the suites: the table of outcomes has one for each, in the order of the file.
fn suites(table: &Json) -> Vec<Case> {
    let mut cases = Vec::new();
    for (file, outcomes) in table["suites"].as_object().unwrap() {
        let suite = read(&folder().join("suites").join(file));
        let rows: Vec<&Json> = suite.as_array().unwrap().iter().filter(|row| row.is_object()).collect();
        assert_eq!(rows.len(), outcomes.as_array().unwrap().len(), "{file}: run oracle.mjs again");
        for (index, (row, outcome)) in rows.iter().zip(outcomes.as_array().unwrap()).enumerate() {
            cases.push(Case {
                name: format!("{file}#{index}"),
                rule: row["rule"].clone(),
                data: row.get("data").cloned().unwrap_or_default(),
                outcome: outcome.clone(),
                wanted: row.get("result").cloned(),
            });
        }
    }
    cases
}

fn matrix(table: &Json) -> Vec<Case> {
    let table = &table["matrix"];
    let values = table["values"].as_array().unwrap();
    let var = |name: &str| serde_json::json!({ "var": name });
    let case = |name: String, operation: &str, rule: Vec<Json>, data: Json, outcome: &Json| {
        let rule = Json::Object([(operation.to_owned(), Json::Array(rule))].into_iter().collect());
        Case { name, rule, data, outcome: outcome.clone(), wanted: None }
    };
    let mut cases = Vec::new();
    for (operation, row) in table["unary"].as_object().unwrap() {
        for (a, outcome) in values.iter().zip(row.as_array().unwrap()) {
            let data = serde_json::json!({ "a": a });
            cases.push(case(format!("{operation} of {a}"), operation, vec![var("a")], data, outcome));
        }
    }
    for (operation, rows) in table["binary"].as_object().unwrap() {
        for (a, row) in values.iter().zip(rows.as_array().unwrap()) {
            for (b, outcome) in values.iter().zip(row.as_array().unwrap()) {
                let data = serde_json::json!({ "a": a, "b": b });
                let rule = vec![var("a"), var("b")];
                cases.push(case(format!("{a} {operation} {b}"), operation, rule, data, outcome));
            }
        }
    }
    for row in table["ternary"].as_array().unwrap() {
        let (operation, of, outcome) = (row[0].as_str().unwrap(), &row[1], &row[2]);
        let data = serde_json::json!({ "a": of[0], "b": of[1], "c": of[2] });
        let rule = vec![var("a"), var("b"), var("c")];
        cases.push(case(format!("{operation} of {of}"), operation, rule, data, outcome));
    }
    cases
}

fn random(table: &Json) -> Vec<Case> {
    let table = &table["random"];
    let rows = table["rules"].as_array().unwrap().iter().enumerate();
    rows.map(|(index, row)| Case {
        name: format!("random {index}"),
        rule: row[0].clone(),
        data: table["data"].clone(),
        outcome: row[1].clone(),
        wanted: None,
    })
    .collect()
}

/// What we make of a case natively: the value or the fault's words.
fn outcome(case: &Case) -> Result<Value, String> {
    let value = |json: &Json| json::read(&json.to_string()).unwrap();
    let rule = Rule::parse(&value(&case.rule)).map_err(|fault| fault.to_string())?;
    rule.apply(&value(&case.data), &mut Budget::default()).map_err(|fault| fault.to_string())
}

/// Whether a value is the recorded one. Numbers are equal by value; `{"$": ".."}` is what JSON has no word for, and undefined is
/// null outside of a rule.
fn same(want: &Json, got: &Value) -> bool {
    match (want, got) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(want), Value::Bool(got)) => want == got,
        (Json::Number(want), Value::Int(_) | Value::Float(_)) => want.as_f64() == Some(number(got)),
        (Json::String(want), Value::Str(got)) => want == got,
        (Json::Array(want), Value::List(got)) => {
            want.len() == got.len() && want.iter().zip(got).all(|(a, b)| same(a, b))
        }
        (Json::Object(want), got) if want.len() == 1 && want.contains_key("$") => match want["$"].as_str() {
            Some("undefined") => matches!(got, Value::Null),
            Some("NaN") => number(got).is_nan() && matches!(got, Value::Float(_)),
            Some("Infinity") => number(got) == f64::INFINITY,
            Some("-Infinity") => number(got) == f64::NEG_INFINITY,
            _ => false,
        },
        (Json::Object(want), Value::Map(got)) => {
            want.len() == got.len() && want.iter().all(|(key, want)| got.get(key).is_some_and(|got| same(want, got)))
        }
        (_, _) => false,
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Int(int) => int.as_f64(),
        Value::Float(float) => *float,
        _ => f64::NAN,
    }
}

fn agrees(case: &Case, got: &Result<Value, String>) -> bool {
    match (&case.outcome, got) {
        (Json::Array(want), Ok(got)) => same(&want[0], got),
        // The words are ours, that it fails is the peer's.
        (Json::String(_), Err(_)) => true,
        (_, _) => false,
    }
}

fn deviations() -> BTreeMap<String, String> {
    let table: toml::Table = std::fs::read_to_string(folder().join("DEVIATIONS.toml")).unwrap().parse().unwrap();
    let cases = table.get("case").and_then(toml::Value::as_array).into_iter().flatten();
    cases.map(|case| (case["name"].as_str().unwrap().to_owned(), case["reason"].as_str().unwrap().to_owned())).collect()
}

/// Cases that differ and are not listed, or are listed and do not differ.
fn wrong(cases: &[Case], got: impl Fn(&Case) -> bool) -> Vec<String> {
    let listed = deviations();
    let wrong = cases.iter().filter(|case| got(case) == listed.contains_key(&case.name));
    wrong
        .map(|case| {
            format!("{}: {} over {}: want {}, got {:?}", case.name, case.rule, case.data, case.outcome, outcome(case))
        })
        .collect()
}

#[test]
fn every_outcome_of_json_logic_js_is_ours() {
    let table = read(&folder().join("outcomes.json"));
    assert_eq!(table["package"], "json-logic-js 2.0.5");
    let cases: Vec<Case> = suites(&table).into_iter().chain(matrix(&table)).chain(random(&table)).collect();
    let wrong = wrong(&cases, |case| agrees(case, &outcome(case)));
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong[..wrong.len().min(40)].join("\n"));
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    for (name, reason) in deviations() {
        assert!(names.contains(name.as_str()), "there is no case {name}");
        assert!(!reason.is_empty(), "{name} has no reason");
    }
}

#[test]
fn the_figures_of_the_suites_stand() {
    let cases = suites(&read(&folder().join("outcomes.json")));
    let compatible: Vec<&Case> = cases.iter().filter(|case| case.name.starts_with("compatible.json")).collect();
    let met = compatible
        .iter()
        .filter(|case| outcome(case).is_ok_and(|got| case.wanted.as_ref().is_some_and(|want| same(want, &got))));
    assert_eq!((met.count(), compatible.len()), (278, 278));
    let classic: Vec<&Case> = cases.iter().filter(|case| case.is_classic()).collect();
    let equal = classic.iter().filter(|case| agrees(case, &outcome(case))).count();
    println!("JSON Logic: 278 of 278 compatible, {equal} of {} classic outcomes of json-logic-js", classic.len());
    assert_eq!(classic.len(), 944);
    assert!(equal >= 940, "{equal}");
}

/// The same through a component: the JSON that comes out is that of the value that comes out natively.
#[test]
fn through_the_sandbox_nothing_differs() {
    let plugin = load("probe", PROBE).unwrap();
    let table = read(&folder().join("outcomes.json"));
    for case in suites(&table).into_iter().chain(random(&table)) {
        let got = plugin.evaluate("jsonlogic", &case.rule.to_string(), &case.data.to_string()).unwrap();
        match (outcome(&case), got) {
            (Ok(want), Ok(got)) => assert_eq!(json::text(&want), got, "{}", case.name),
            (Err(want), Err(got)) => assert!(want.starts_with(&got.message), "{}: {want} / {got:?}", case.name),
            (want, got) => panic!("{}: {want:?} / {got:?}", case.name),
        }
    }
}
