//! What the recorded outcomes of json-logic-js cannot show: laziness, places, limits, and rules made at random.

use std::cell::RefCell;

use wfhost_guest::json;
use wfhost_guest::value::Value;

use crate::{Absent, Budget, Fault, Kind, Lookup, Rule, dotted, evaluate, truthy};

fn rule(text: &str) -> Rule {
    Rule::parse(&json::read(text).unwrap()).unwrap()
}

fn over(text: &str, data: &str) -> Result<String, Fault> {
    rule(text).apply(&json::read(data).unwrap(), &mut Budget::default()).map(|value| json::text(&value))
}

#[test]
fn a_var_is_looked_up_when_it_is_reached_and_not_before() {
    let asked = RefCell::new(Vec::new());
    let mut lookup = |path: &str| {
        asked.borrow_mut().push(path.to_owned());
        (path == "a").then(|| Value::from(true))
    };
    let text = r#"{"if": [{"var": "a"}, {"map": [[1, 2], {"var": ""}]}, {"var": "never"}]}"#;
    let value = rule(text).evaluate(&mut lookup, &mut Budget::default()).unwrap();
    assert_eq!((json::text(&value).as_str(), asked.borrow().join(" ").as_str()), ("[1,2]", "a"));
}

#[test]
fn a_value_is_never_read_as_logic() {
    for (text, want) in [
        (r#"{"var": "x"}"#, r#"{"==":[1,1]}"#),
        (r#"{"!": [{"var": "x"}]}"#, "false"),
        (r#"{"map": [[{"var": "x"}], {"var": ""}]}"#, r#"[{"==":[1,1]}]"#),
        (r#"{"missing": [{"var": "list"}]}"#, r#"[{"cat":["x"]}]"#),
    ] {
        assert_eq!(over(text, r#"{"x": {"==": [1, 1]}, "list": [{"cat": ["x"]}]}"#).unwrap(), want, "{text}");
    }
}

/// Paths in a language of their own, as mcpGraph has them.
struct Foreign;

impl Lookup for Foreign {
    fn value(&mut self, path: &str) -> Result<Option<Value>, String> {
        if path.starts_with('$') { Ok(None) } else { Err(format!("`{path}` is no path")) }
    }
    fn plain(&mut self, path: &str) -> Result<Option<Value>, String> {
        Ok(dotted(&json::read(r#"{"a": {"b": ["x"]}}"#).unwrap(), path))
    }
    fn absent(&self) -> Absent {
        Absent::Undefined
    }
}

#[test]
fn a_lookup_has_its_own_nothing_its_own_errors_and_plain_paths_for_missing() {
    let run = |text: &str| rule(text).evaluate(&mut Foreign, &mut Budget::default());
    for (text, want) in [
        (r#"{"===": [{"var": "$x"}, null]}"#, "false"),
        (r#"{"==": [{"var": "$x"}, null]}"#, "true"),
        (r#"{">=": [{"var": "$x"}, 0]}"#, "false"),
        (r#"{"var": ["$x", 5]}"#, "5"),
        (r#"{"missing": ["a.b.0", "a.b.0.0", "a.b.length", "a.c", "b"]}"#, r#"["a.c","b"]"#),
    ] {
        assert_eq!(json::text(&run(text).unwrap()), want, "{text}");
    }
    let fault = run(r#"{"and": [true, {"!": {"var": "x y"}}]}"#).unwrap_err();
    assert_eq!((fault.pointer().as_str(), fault.code()), ("/and/1/!/var", "logic-lookup"));
    assert_eq!(fault.to_string(), "`x y` is no path (at /and/1/!/var)");
}

#[test]
fn a_fault_knows_its_place() {
    for (text, place, kind) in [
        (r#"{"a/b": 1}"#, "/a~1b", Kind::UnknownOperation("a/b".into())),
        (r#"[1, {"if": [1, {"toString": 1}]}]"#, "/1/if/1/toString", Kind::UnknownOperation("toString".into())),
        (r#"{"map": [[1], {"*": []}]}"#, "/map/1/*", Kind::EmptyProduct),
        (r#"{"cat": [1, {"var": "x"}]}"#, "/cat", Kind::NoPrimitive),
        (r#"{"missing_some": [1]}"#, "/missing_some", Kind::NoNames),
    ] {
        let fault = over(text, r#"{"x": {"toString": 1}}"#).unwrap_err();
        assert_eq!((fault.pointer().as_str(), &fault.kind), (place, &kind), "{text}");
    }
    assert_eq!(over(r#"{"if": [true, 1, {"frobnicate": 1}]}"#, "null").unwrap(), "1");
}

#[test]
fn what_a_rule_refers_to_is_known_before_it_runs() {
    let rule = rule(
        r#"{"and": [{"var": "a.b"}, {"some": [{"var": ["l", []]}, {"==": [{"var": "n"}, {"nope": 1}]}]}, {"var": {"cat": "a"}}]}"#,
    );
    let found: Vec<String> = rule
        .references()
        .into_iter()
        .map(|one| format!("{} {:?} {} {}", one.pointer, one.path, one.listed, one.scoped))
        .collect();
    assert_eq!(
        found,
        [
            r#"/and/0 Some("a.b") false false"#,
            r#"/and/1/some/0 Some("l") true false"#,
            r#"/and/1/some/1/==/0 Some("n") false true"#,
            "/and/2 None false false",
        ]
    );
    let unknown = rule.unknown();
    assert_eq!((unknown[0].pointer.as_str(), unknown[0].name.as_str()), ("/and/1/some/1/==/1", "nope"));
}

#[test]
fn an_endless_appetite_ends_at_its_limit() {
    let list = format!("[{}]", vec!["1"; 2_000].join(","));
    for (logic, code) in [
        // A text, a list and a mapping that double; one that nests; one shared so often that only its text is huge.
        (r#"{"cat": [{"var": "accumulator"}, {"var": "accumulator"}]}"#, "logic-too-many-steps"),
        (r#"{"merge": [{"var": "accumulator"}, {"var": "accumulator"}]}"#, "logic-too-many-steps"),
        (r#"{"var": ""}"#, "logic-too-deep"),
        (r#"[{"var": "accumulator"}]"#, "logic-too-deep"),
    ] {
        let text = format!(r#"{{"reduce": [{{"var": ""}}, {logic}, ["text"]]}}"#);
        assert_eq!(over(&text, &list).unwrap_err().code(), code, "{logic}");
    }
    let shared = r#"{"reduce": [{"var": ""}, [{"var": "accumulator"}, {"var": "accumulator"}], 1]}"#;
    let few = format!("[{}]", vec!["1"; 200].join(","));
    assert_eq!(over(shared, &few).unwrap_err().code(), "logic-too-many-steps");
    assert_eq!(over(&format!(r#"{{"cat": {shared}}}"#), &few).unwrap_err().code(), "logic-too-many-steps");
    let nested = r#"{"map": [{"var": ""}, {"map": [{"var": ""}, 1]}]}"#;
    let mut small = Budget::new(10);
    assert!(rule(nested).apply(&json::read("[[1,2],[3,4]]").unwrap(), &mut small).is_err());
    let deep = Value::List(vec![]);
    let deep = (0..400).fold(deep, |inner, _| Value::List(vec![inner]));
    assert_eq!(Rule::parse(&deep).unwrap_err().kind, Kind::TooDeep);
    let deeper = (0..200).fold(deep, |inner, _| Value::List(vec![inner]));
    assert_eq!(rule("1").apply(&deeper, &mut Budget::default()).unwrap_err().kind, Kind::TooDeep);
}

#[test]
fn texts_are_evaluated_with_places_for_what_is_wrong() {
    assert_eq!(evaluate(r#"{"+": [{"var": "a"}, 1]}"#, r#"{"a": "2"}"#).unwrap(), "3");
    assert_eq!(evaluate(r#"{"/": [1, 0]}"#, "null").unwrap(), "null");
    let place = |expression: &str, context: &str| {
        let fault = evaluate(expression, context).unwrap_err();
        let at = fault.span.map(|span| (span.start.line, span.start.column));
        (fault.code, at, fault.help.unwrap_or_default())
    };
    assert_eq!(place("{\"==\": [1,\n  2 3]}", "{}").1, Some((2, 5)));
    assert_eq!(place("1", "{").0, "logic-data");
    let (code, at, help) = place("{\"and\": [1,\n {\"substring\": 1}]}", "{}");
    assert_eq!((code.as_str(), at), ("logic-unknown-operation", Some((2, 16))));
    assert!(help.contains("`substr`"), "{help}");
}

/// Random rules over random data, from a seed: xorshift.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn value(&mut self, depth: usize, logic: bool) -> Value {
        let words =
            ["", "a", "b.0", "0", "length", "-1", "1e3", "current", "accumulator", "é😀", "Infinity", "toString"];
        match self.roll(if depth == 0 { 6 } else { 12 }) {
            0 => Value::Null,
            1 => Value::from(self.roll(2) == 0),
            2 => Value::from(i64::try_from(self.roll(5)).unwrap() - 2),
            3 => Value::Float([0.5, -0.0, 1e21, f64::NAN, f64::INFINITY, 9e15][self.roll(6)]),
            4 | 5 => Value::from(words[self.roll(words.len())]),
            6 | 7 => (0..self.roll(5)).map(|_| self.value(depth - 1, logic)).collect::<Vec<_>>().into(),
            8 if !logic => {
                Value::Map((0..self.roll(4)).map(|i| (words[i].to_owned(), self.value(depth - 1, logic))).collect())
            }
            _ => {
                let name = crate::OPERATIONS[self.roll(35)];
                let values: Vec<Value> = (0..self.roll(5)).map(|_| self.value(depth - 1, logic)).collect();
                Value::from([(name, Value::from(values))])
            }
        }
    }
}

#[test]
fn no_rule_panics_or_outlives_its_budget() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let (mut values, mut faults) = (0, 0);
    for _ in 0..20_000 {
        let rule = Rule::parse(&dice.value(7, true)).unwrap();
        let data = dice.value(4, false);
        match rule.apply(&data, &mut Budget::new(20_000)) {
            Ok(value) => {
                values += 1;
                assert!(json::read(&json::text(&value)).is_ok());
            }
            Err(_) => faults += 1,
        }
    }
    assert!(values > 5_000 && faults > 10, "{values} values, {faults} faults");
}

#[test]
fn truth_is_that_of_json_logic() {
    for (text, want) in [
        ("null", false),
        ("0", false),
        ("0.0", false),
        ("\"\"", false),
        ("\"0\"", true),
        ("[]", false),
        ("[0]", true),
        ("{}", true),
    ] {
        assert_eq!(truthy(&json::read(text).unwrap()), want, "{text}");
        assert_eq!(over(&format!("{{\"!!\": [{text}]}}"), "null").unwrap(), want.to_string(), "{text}");
    }
}
