//! The languages of expressions: any text as an expression, over any data.

use std::path::{Path, PathBuf};

use serde_json::Value;
use wfhost::plugin::CallFault;
use wfhost_tests::lab;

use super::Target;
use super::guests::Maker;

/// Data of a first input that are longer than this are left out: what is changed is to be the expression most of the time.
const DATA_BYTES: usize = 1_000;

pub(crate) fn targets() -> Vec<Maker> {
    vec![("jsonata".to_owned(), Box::new(jsonata)), ("jsonlogic".to_owned(), Box::new(jsonlogic))]
}

/// An expression, a zero byte, and its data.
fn input(expression: &str, data: Option<&Value>) -> Vec<u8> {
    let data = data.map(Value::to_string).filter(|data| data.len() <= DATA_BYTES).unwrap_or_else(|| "{}".to_owned());
    [expression.as_bytes(), data.as_bytes()].join(&0)
}

fn parts(input: &[u8]) -> (String, String) {
    let mut parts = input.splitn(2, |byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

/// In the sandbox, where what goes on without end is stopped. Everything else comes to a value or to a fault with a code; a trap
/// is a bug.
fn jsonata() -> Target {
    let plugin = lab::builtin("graphs").unwrap();
    let rows = rows(&super::corpus().join("jsonata/groups"));
    Target {
        name: "jsonata".to_owned(),
        corpus: rows.iter().filter_map(|row| Some(input(row["expr"].as_str()?, row.get("data")))).collect(),
        run: Box::new(move |bytes| {
            let (expression, data) = parts(bytes);
            if is_known(&expression, &data) {
                return Ok(());
            }
            match plugin.evaluate("jsonata", &expression, &data) {
                Ok(_) | Err(CallFault::Time { .. } | CallFault::Instructions { .. } | CallFault::Memory { .. }) => {
                    Ok(())
                }
                Err(fault) => Err(fault.to_string()),
            }
        }),
    }
}

/// What may reach the one known panic of jsonata-core 2.2.13: a picture of a date with a component that begins with a
/// character of more than one byte (`guests/jsonata/README.md`).
fn is_known(expression: &str, data: &str) -> bool {
    expression.contains("Millis") && !(expression.is_ascii() && data.is_ascii())
}

fn jsonlogic() -> Target {
    let rows = rows(&super::corpus().join("jsonlogic/suites"));
    let rows = rows.iter().filter(|row| row.get("rule").is_some());
    Target {
        name: "jsonlogic".to_owned(),
        corpus: rows.map(|row| input(&row["rule"].to_string(), row.get("data"))).collect(),
        run: Box::new(|bytes| {
            let (rule, data) = parts(bytes);
            drop(wfhost_jsonlogic::evaluate(&rule, &data));
            Ok(())
        }),
    }
}

/// The cases of all JSON files of a folder and of those in it.
fn rows(folder: &Path) -> Vec<Value> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let of = |path: PathBuf| {
        if path.is_dir() {
            return rows(&path);
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        match serde_json::from_str(&text).unwrap_or_default() {
            Value::Array(rows) => rows.into_iter().filter(Value::is_object).collect(),
            row @ Value::Object(_) => vec![row],
            _ => Vec::new(),
        }
    };
    paths.into_iter().flat_map(of).collect()
}
