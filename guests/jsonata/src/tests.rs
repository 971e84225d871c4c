//! The door: what is supplied, what is checked, what is bounded.

use super::*;

fn run(expression: &str, data: &str) -> Result<String, Fault> {
    let double: (&'static str, &str, Native) =
        ("double", "<n:n>", Box::new(|args: &[Data]| Ok(Data::count(args[0].as_number().unwrap() as usize * 2))));
    let mut machine = Machine::new(Moment { now: 1_700_000_000_000, seed: 7 }, vec![double]);
    let value = machine.evaluate(&Expression::parse(expression)?, &Data::parse(data).unwrap())?;
    Ok(value.value().map_or_else(|| "nothing".to_owned(), |value| wfhost_guest::json::text(&value)))
}

fn check(expression: &str, data: &str, want: &str) {
    assert_eq!(run(expression, data).unwrap(), want, "{expression}");
}

#[test]
fn time_and_chance_are_supplied() {
    check("$millis()", "{}", "1700000000000");
    check("$now()", "{}", "\"2023-11-14T22:13:20.000Z\"");
    check("$now('[Y]')", "{}", "\"2023\"");
    check("$random() = $random()", "{}", "false");
    assert_eq!(run("$shuffle([1..9])", "{}"), run("$shuffle([1..9])", "{}"));
    assert_eq!(run("$random()", "{}"), run("$random()", "{}"));
}

#[test]
fn functions_of_ours_have_their_signatures_checked() {
    check("$double(21)", "{}", "42");
    check("$map([1,2], function($n){$double($n)})", "{}", "[2,4]");
    check("[1,2].$double($)", "{}", "[2,4]");
    assert_eq!(run("$double('x')", "{}").unwrap_err().code, "T0410");
    assert_eq!(run("$double()", "{}").unwrap_err().code, "T0410");
}

#[test]
fn numbers_are_written_as_javascript_writes_them() {
    check(
        "[1.0, 0.1, 1e21, 9007199254740993, 12345678901234567890, 1/3]",
        "{}",
        "[1,0.1,1e+21,9007199254740992,12345678901234567000,0.3333333333333333]",
    );
    check("{'a': missing, 'b': null}", "{}", "{\"b\":null}");
}

#[test]
fn a_fault_has_its_place() {
    let place = |text: &str| Expression::parse(text).unwrap_err().at;
    assert_eq!(place("1 +"), Some(3));
    assert_eq!(place("$.a["), Some(4));
    assert_eq!(place("1 + * 2 ) + 3"), Some(6));
    assert_eq!(place("a b c"), Some(2));
    assert_eq!(place("'ab' & 'cd"), Some(7));
    assert_eq!(place("(1; 2"), Some(5));
}

#[test]
fn what_recurses_without_end_is_a_fault() {
    assert_eq!(run("($f := function($n){1 + $f($n + 1)}; $f(1))", "{}").unwrap_err().code, "U1001");
    check("($f := function($n){$n = 0 ? 0 : 1 + $f($n - 1)}; $f(100))", "{}", "100");
    check("($f := function($n, $s){$n = 0 ? $s : $f($n - 1, $s + $n)}; $f(5000, 0))", "{}", "12502500");
    let deep = "(".repeat(300);
    assert_eq!(Expression::parse(&deep).unwrap_err().code, "U1002");
    let long = format!("0{}", " + 1".repeat(300));
    assert_eq!(Expression::parse(&long).unwrap_err().code, "U1002");
    let list = format!("[0{}]", ", 1 + 1".repeat(3000));
    assert!(Expression::parse(&list).is_ok());
}
