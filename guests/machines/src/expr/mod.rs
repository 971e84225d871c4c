//! Expressions and values of documents: MiniJinja, set up so that every slip is an error and every result is JSON.
//!
//! An *expression* is bare (`stage == 'open'`) and counts by its truth. A *value* is any JSON: a text that is exactly one
//! `{{ expression }}` gives the value with its type, a text with placeholders elsewhere is rendered, lists and maps are
//! walked, and anything else stands for itself.

mod convert;
mod reading;
mod scope;
mod text;

pub(crate) use reading::Reading;
pub(crate) use scope::{Clock, Inputs, Scope, uuid};
pub(crate) use text::Names;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use minijinja::value::Value as Jinja;
use minijinja::{Environment, Error, ErrorKind, Expression, UndefinedBehavior};
use wfhost_guest::time;
use wfhost_guest::value::{Map, Value};

use text::{Form, form, names};

/// LIMIT: instructions of the template engine in one evaluation, and with them its memory.
const FUEL: u64 = 50_000;

/// Functions that a document may call, and no name of its own may hide.
pub(crate) const FUNCTIONS: [&str; 5] = ["range", "dict", "len", "now", "uuid"];

/// An expression that came to nothing, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed(pub(crate) String);

/// The engine with the functions of one moment.
pub(crate) struct Engine {
    env: Environment<'static>,
}

impl Engine {
    /// An engine whose clock stands at a moment.
    pub(crate) fn new(clock: &Clock) -> Self {
        let mut env = Environment::new();
        env.set_undefined_behavior(UndefinedBehavior::Strict);
        env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        env.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        env.set_syntax(syntax());
        env.set_fuel(Some(FUEL));
        env.remove_global("debug");
        env.remove_global("namespace");
        env.add_function("len", length);
        for (name, test) in [("None", is_none as fn(&Jinja) -> bool), ("True", is_true), ("False", is_false)] {
            env.add_test(name, move |value: Jinja| test(&value));
        }
        let at = clock.at;
        env.add_function("now", move || time::iso(at));
        let (seed, count) = (clock.seed.clone(), Arc::new(AtomicU32::new(0)));
        env.add_function("uuid", move || scope::uuid(&seed, count.fetch_add(1, Ordering::Relaxed)));
        Self { env }
    }

    /// Whether an expression holds.
    pub(crate) fn holds(&self, source: &str, scope: &Scope) -> Result<bool, Failed> {
        let value = self.raw(source, scope)?;
        if value.is_undefined() { Err(undefined(source)) } else { Ok(value.is_true()) }
    }

    /// The value of a bare expression.
    pub(crate) fn evaluate(&self, source: &str, scope: &Scope) -> Result<Value, Failed> {
        if let Some(path) = text::path(source) {
            return scope.path(&path).ok_or_else(|| undefined(source));
        }
        let value = self.raw(source, scope)?;
        convert::out(&value).map_err(|why| Failed(format!("`{source}` {why}")))
    }

    fn raw(&self, source: &str, scope: &Scope) -> Result<Jinja, Failed> {
        let expression = self.compiled(source)?;
        expression.eval(scope.value()).map_err(|e| said(source, &e))
    }

    fn compiled<'s>(&'s self, source: &'s str) -> Result<Expression<'s, 's>, Failed> {
        self.env.compile_expression(source).map_err(|e| said(source, &e))
    }

    /// The value of a document's value.
    pub(crate) fn value(&self, value: &Value, scope: &Scope) -> Result<Value, Failed> {
        match value {
            Value::Str(source) => self.text(source, scope),
            Value::List(items) => {
                items.iter().map(|item| self.value(item, scope)).collect::<Result<_, _>>().map(Value::List)
            }
            Value::Map(map) => self.map(map, scope).map(Value::Map),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => Ok(value.clone()),
        }
    }

    /// The members of a map, each evaluated; keys are as they are.
    pub(crate) fn map(&self, map: &Map, scope: &Scope) -> Result<Map, Failed> {
        map.iter().map(|(key, item)| Ok((key.to_owned(), self.value(item, scope)?))).collect()
    }

    fn text(&self, source: &str, scope: &Scope) -> Result<Value, Failed> {
        match form(source) {
            Form::Literal => return Ok(source.into()),
            Form::Placeholder(inner) => {
                if let Some(path) = text::path(inner) {
                    return scope.path(&path).ok_or_else(|| undefined(inner));
                }
                if let Ok(expression) = self.compiled(inner) {
                    let value = expression.eval(scope.value()).map_err(|e| said(inner, &e))?;
                    return convert::out(&value).map_err(|why| Failed(format!("`{inner}` {why}")));
                }
            }
            Form::Template => {}
        }
        self.env.render_str(source, scope.value()).map(Value::Str).map_err(|e| said(source, &e))
    }

    /// What an expression names, or why it is none.
    pub(crate) fn expression(&self, source: &str) -> Result<Names, Failed> {
        let variables = self.compiled(source)?.undeclared_variables(false);
        Ok(known(source, variables))
    }

    /// What a text with placeholders names, or why it is none. A literal names nothing.
    fn template(&self, source: &str) -> Result<Names, Failed> {
        match form(source) {
            Form::Literal => return Ok(Names::default()),
            Form::Placeholder(inner) => {
                if let Ok(names) = self.expression(inner) {
                    return Ok(names);
                }
            }
            Form::Template => {}
        }
        let template = self.env.template_from_str(source).map_err(|e| said(source, &e))?;
        Ok(known(&text::inside(source), template.undeclared_variables(false)))
    }

    /// Whether there is a filter of that name.
    fn has_filter(&self, name: &str) -> bool {
        self.knows(&format!("0|{name}"), ErrorKind::UnknownFilter)
    }

    /// Whether there is a test of that name.
    fn has_test(&self, name: &str) -> bool {
        self.knows(&format!("0 is {name}"), ErrorKind::UnknownTest)
    }

    fn knows(&self, source: &str, unknown: ErrorKind) -> bool {
        match self.env.compile_expression_owned(source.to_owned()).and_then(|e| e.eval(())) {
            Ok(_) => true,
            Err(error) => error.kind() != unknown && error.kind() != ErrorKind::SyntaxError,
        }
    }
}

fn known(code: &str, variables: std::collections::HashSet<String>) -> Names {
    let mut names = names(code);
    names.variables = variables.into_iter().filter(|name| !FUNCTIONS.contains(&name.as_str())).collect();
    names.variables.sort();
    names
}

fn syntax() -> minijinja::syntax::SyntaxConfig {
    minijinja::syntax::SyntaxConfig::builder().keep_trailing_newline(true).build().unwrap_or_default()
}

fn is_none(value: &Jinja) -> bool {
    value.is_none()
}

fn is_true(value: &Jinja) -> bool {
    value.kind() == minijinja::value::ValueKind::Bool && value.is_true()
}

fn is_false(value: &Jinja) -> bool {
    value.kind() == minijinja::value::ValueKind::Bool && !value.is_true()
}

fn length(value: Jinja) -> Result<usize, Error> {
    let size = if let Some(text) = value.as_str() { Some(text.chars().count()) } else { value.len() };
    size.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, format!("{} has no length", value.kind())))
}

fn undefined(source: &str) -> Failed {
    Failed(format!("`{}` has no value", source.trim()))
}

fn said(source: &str, error: &Error) -> Failed {
    let what = error.kind().to_string();
    let detail = error.detail().filter(|detail| !detail.is_empty());
    let words = detail.map_or(what.clone(), |detail| format!("{what}: {detail}"));
    Failed(format!("`{}`: {words}", source.trim()))
}

/// The value of an expression of the command line, over the members of an object.
pub(crate) fn evaluate(
    language: &str,
    expression: &str,
    context: &str,
) -> Result<String, wfhost_guest::model::Diagnostic> {
    use wfhost_guest::{diagnostic, json};
    let fault = |code: &str, message: String| diagnostic::error(code, message).done();
    if language != "minijinja" {
        return Err(fault("no-such-language", format!("this interpreter evaluates no `{language}`")));
    }
    let Ok(Value::Map(state)) = json::read(context) else {
        return Err(fault("machine-wrong-type", "the context must be a JSON object".to_owned()));
    };
    let scope = Scope { state: Arc::new(state), ..Scope::default() };
    let engine = Engine::new(&Clock { at: 0, seed: String::new() });
    let value = engine.evaluate(expression, &scope);
    value.map(|value| json::text(&value)).map_err(|failed| fault("machine-bad-expression", failed.0))
}
