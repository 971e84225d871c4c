//! The macro that turns a `Dialect` into the exports of a component, and `describe` from the file `about.json`.

use crate::json;
use crate::model::Interpreter;
use crate::value::Value;

/// Exports a dialect: `export!(Trees, include_str!("../about.json"))`, or with the JSON Schema of its documents as a
/// third argument, and a guide for a model that writes them (Markdown) as a fourth; an empty text is none. Natively it only defines `interpreter()`, so that several dialects fit into one test binary.
#[macro_export]
macro_rules! export {
    ($dialect:ident, $about:expr) => {
        $crate::export!($dialect, $about, "", "");
    };
    ($dialect:ident, $about:expr, $schema:expr) => {
        $crate::export!($dialect, $about, $schema, "");
    };
    ($dialect:ident, $about:expr, $schema:expr, $skill:expr) => {
        /// Who this interpreter is, as the host learns it.
        #[must_use]
        pub fn interpreter() -> $crate::model::Interpreter {
            $crate::export::interpreter($about, env!("CARGO_PKG_VERSION"), $schema, $skill)
        }

        #[cfg(target_arch = "wasm32")]
        #[expect(unsafe_code, reason = "the exported functions of the component's ABI")]
        mod exported {
            use super::$dialect;

            struct Component;
            $crate::forward!($dialect);
            $crate::bindings::export_component!(Component with_types_in $crate::bindings);
        }
    };
}

/// The generated trait in terms of `Dialect`; a part of `export!`.
#[doc(hidden)]
#[macro_export]
macro_rules! forward {
    ($dialect:ident) => {
        use $crate::{At, Dialect, model as m};

        #[expect(clippy::too_many_arguments, reason = "the contract's signature")]
        impl $crate::bindings::exports::wfhost::engine::engine::Guest for Component {
            fn describe() -> m::Interpreter {
                super::interpreter()
            }
            fn recognise(document: m::Document) -> Option<Vec<String>> {
                <$dialect as Dialect>::recognise(&document)
            }
            fn compile(bundle: m::Bundle) -> m::Compiled {
                <$dialect as Dialect>::compile(&bundle)
            }
            fn tools(workflows: Vec<m::Workflow>) -> Vec<m::Tool> {
                <$dialect as Dialect>::tools(&workflows)
            }
            fn route(call: m::Call, workflows: Vec<String>) -> Result<m::Action, m::Refusal> {
                <$dialect as Dialect>::route(&call, &workflows)
            }
            fn catalogue(call: m::Call, workflows: Vec<m::Workflow>, runs: Vec<m::Run>) -> m::Output {
                <$dialect as Dialect>::catalogue(&call, &workflows, &runs)
            }
            fn evaluate(language: String, expression: String, context: String) -> Result<String, m::Diagnostic> {
                <$dialect as Dialect>::evaluate(&language, &expression, &context)
            }
            fn start(code: Vec<u8>, session: m::Session, event: m::Event) -> Result<m::Turn, m::Refusal> {
                <$dialect as Dialect>::start(&code, &session, event)
            }
            fn answer(
                code: Vec<u8>,
                session: m::Session,
                state: String,
                memory: m::Memory,
                event: m::Event,
            ) -> Result<m::Turn, m::Refusal> {
                <$dialect as Dialect>::answer(At { code: &code, session: &session, state: &state }, &memory, event)
            }
            fn status(code: Vec<u8>, session: m::Session, state: String) -> m::Output {
                <$dialect as Dialect>::status(At { code: &code, session: &session, state: &state })
            }
            fn trace(code: Vec<u8>, session: m::Session, state: String, journal: m::Journal) -> m::Output {
                <$dialect as Dialect>::trace(At { code: &code, session: &session, state: &state }, &journal)
            }
            fn render(
                code: Vec<u8>,
                session: m::Session,
                state: String,
                journal: m::Journal,
                view: String,
                args: String,
            ) -> Result<String, m::Refusal> {
                let at = At { code: &code, session: &session, state: &state };
                <$dialect as Dialect>::render(at, &journal, &view, &args)
            }
        }
    };
}

/// `describe` from the text of an `about.json`. A member that is missing reads as empty, which the host refuses at load.
pub fn interpreter(about: &str, version: &str, schema: &str, skill: &str) -> Interpreter {
    let about = json::read(about).unwrap_or(Value::Null);
    let word = |key: &str| about.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let list = |key: &str| {
        let items = about.get(key).and_then(Value::as_list).unwrap_or_default();
        items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    Interpreter {
        name: word("name"),
        version: version.to_owned(),
        title: word("title"),
        files: list("files"),
        marks: list("marks"),
        languages: list("languages"),
        schema: (!schema.is_empty()).then(|| schema.to_owned()),
        skill: (!skill.is_empty()).then(|| skill.to_owned()),
    }
}
