//! JSONata's own test suite, natively and in the sandbox: `corpus/jsonata`. What differs is listed in DIFFERS.toml with its
//! reason, strict both ways.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use wfhost_tests::lab;

/// An expression with its data, and what the suite wants of it.
struct Case {
    name: String,
    expression: String,
    /// As JSON; empty: none.
    data: String,
    want: Want,
    /// Lists may come in another order.
    unordered: bool,
}

enum Want {
    Value(Json),
    Nothing,
    Code(String),
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/jsonata")
}

fn read(path: &Path) -> Json {
    let text = std::fs::read_to_string(path).unwrap();
    // Halves of surrogate pairs are no characters here.
    serde_json::from_str(&text).unwrap_or_default()
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for group in std::fs::read_dir(folder().join("groups")).unwrap() {
        let group = group.unwrap().path();
        for file in std::fs::read_dir(&group).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|ext| ext != "json") {
                continue;
            }
            let name = format!("{}/{}", group.file_name().unwrap().display(), file.file_stem().unwrap().display());
            match read(&file) {
                Json::Array(rows) => {
                    cases.extend(rows.iter().enumerate().map(|(i, row)| case(format!("{name}#{i}"), row, &group)));
                }
                row => cases.push(case(name, &row, &group)),
            }
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

fn case(name: String, row: &Json, group: &Path) -> Case {
    let expression = match (row["expr"].as_str(), row["expr-file"].as_str()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(file)) => std::fs::read_to_string(group.join(file)).unwrap(),
        (None, None) => String::new(),
    };
    // A binding is written into the expression, which then is one in brackets.
    let bindings = row["bindings"].as_object().into_iter().flatten();
    let bound: String = bindings.map(|(name, value)| format!("${name} := {value}; ")).collect();
    let expression = if bound.is_empty() { expression } else { format!("({bound}{expression})") };
    let data = match row["dataset"].as_str() {
        Some(name) => read(&folder().join("datasets").join(format!("{name}.json"))).to_string(),
        None => row.get("data").map(Json::to_string).unwrap_or_default(),
    };
    let code = row["code"].as_str().or_else(|| row.pointer("/error/code").and_then(Json::as_str));
    let want = match (code, row.get("result")) {
        (Some(code), _) => Want::Code(code.to_owned()),
        (None, Some(result)) => Want::Value(result.clone()),
        (None, None) => Want::Nothing,
    };
    Case { name, expression, data, want, unordered: row["unordered"] == true }
}

/// A value, or the code of a fault.
type Outcome = Result<Json, String>;

fn meets(case: &Case, got: &Outcome) -> bool {
    match (&case.want, got) {
        (Want::Value(want), Ok(got)) => equal(want, got, case.unordered),
        // No value and null look alike at this door.
        (Want::Nothing, Ok(got)) => got.is_null(),
        (Want::Code(code), Err(got)) => got == code,
        (Want::Value(_) | Want::Nothing, Err(_)) | (Want::Code(_), Ok(_)) => false,
    }
}

fn equal(a: &Json, b: &Json, unordered: bool) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) if unordered => {
            a.len() == b.len() && a.iter().all(|a| b.iter().any(|b| equal(a, b, false)))
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b, false)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b, false)))
        }
        (a, b) => a == b,
    }
}

/// The cases that are known to differ, each with its reason.
fn differing(place: &str) -> BTreeMap<String, String> {
    let table: toml::Table = std::fs::read_to_string(folder().join("DIFFERS.toml")).unwrap().parse().unwrap();
    let rows = table["case"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row.get("only").and_then(toml::Value::as_str).is_none_or(|only| only == place));
    rows.map(|row| (row["name"].as_str().unwrap().to_owned(), row["reason"].as_str().unwrap().to_owned())).collect()
}

/// Runs the suite, and holds what differs against the list.
fn check(place: &str, evaluate: impl Fn(&Case) -> Outcome) {
    let known = differing(place);
    let cases = cases();
    let mut differ = BTreeSet::new();
    for case in &cases {
        let got = evaluate(case);
        if !meets(case, &got) {
            if !known.contains_key(&case.name) {
                eprintln!("{}: {} gives {got:?}", case.name, case.expression);
            }
            differ.insert(case.name.clone());
        }
    }
    println!("{place}: {} of {} as the suite wants", cases.len() - differ.len(), cases.len());
    assert_eq!(differ, known.into_keys().collect::<BTreeSet<_>>(), "what differs is not what is listed");
    assert!(cases.len() - differ.len() >= 1680, "{} differ", differ.len());
}

fn outcome(result: Result<String, String>) -> Outcome {
    match result {
        Ok(text) => Ok(serde_json::from_str(&text).unwrap()),
        Err(code) => Err(code.strip_prefix("jsonata-").unwrap_or(&code).to_owned()),
    }
}

/// A loop without end, which nothing but the host's limit stops.
const ENDLESS: &str = "tail-recursion/case006";

#[test]
fn the_official_suite_is_met_natively() {
    check("native", |case| {
        if case.name == ENDLESS {
            return Err("stopped".to_owned());
        }
        let evaluated = wfhost_jsonata::evaluate(&case.expression, &case.data);
        outcome(evaluated.map_err(|diagnostic| diagnostic.code))
    });
}

#[test]
fn the_official_suite_is_met_in_the_sandbox() {
    let plugin = lab::builtin("graphs").unwrap();
    check("sandbox", |case| match plugin.evaluate("jsonata", &case.expression, &case.data) {
        Ok(evaluated) => outcome(evaluated.map_err(|diagnostic| diagnostic.code)),
        Err(fault) => Err(format!("fault: {fault}")),
    });
}

/// Recursion of all kinds is bounded before a guest's stack is: a fault with a code and not a trap.
#[test]
fn recursion_without_end_is_named_in_the_sandbox() {
    let plugin = lab::builtin("graphs").unwrap();
    let deep = |text: &str, count: usize, end: &str| format!("{}1{}", text.repeat(count), end.repeat(count));
    let shapes = [
        "($f := function($n){1 + $f($n + 1)}; $f(1))".to_owned(),
        "($f := function($n){$n > 0 ? [$f($n + 1)] : 0}; $f(1))".to_owned(),
        "($f := function($n){$map([$n], function($x){$f($x + 1) + 1})}; $f(1))".to_owned(),
        "($f := function($n){$reduce([$n, 1], function($a, $b){$f($a) + $b})}; $f(1))".to_owned(),
        "($f := function($n){$filter([$n], function($x){$f($x) = 1})}; $f(1))".to_owned(),
        "($f := function($n){$sort([$n, 2], function($a, $b){$f($a) > $b})}; $f(1))".to_owned(),
        "($f := function($n){{'a': $f($n)}.a}; $f(1))".to_owned(),
        "($f := function($n){([$n][$f($n) = 1]).x}; $f(1))".to_owned(),
        "($f := function($n){$n ~> $f ~> $string}; $f(1))".to_owned(),
        "($f := function($n){$eval('$f(1) + 1', $n)}; $f(1))".to_owned(),
        "($f := function($n)<n:n>{$each({'a': $n}, function($v){$f($v) + 1})}; $f(1))".to_owned(),
        deep("(", 5_000, ")"),
        deep("-", 5_000, ""),
        deep("[", 240, "]"),
        deep("1+", 5_000, ""),
        deep("a.", 240, ""),
        format!("$eval('{}')", deep("(", 900, ")")),
        format!("$eval('{}')", deep("[", 5_000, "]")),
        format!("$eval('{}')", deep("1+", 5_000, "")),
    ];
    for shape in shapes {
        let got = plugin.evaluate("jsonata", &shape, "{}");
        let short: String = shape.chars().take(90).collect();
        match got {
            Ok(Ok(value)) => assert!(value.len() < 2_000, "{short}"),
            Ok(Err(diagnostic)) => {
                println!("{short}: {}", diagnostic.code);
                assert!(diagnostic.code.starts_with("jsonata-"), "{short}: {diagnostic:?}");
            }
            Err(fault) => panic!("{short}: {}", fault.to_string().chars().take(300).collect::<String>()),
        }
    }
}
