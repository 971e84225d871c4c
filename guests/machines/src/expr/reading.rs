//! The texts of a document as its checks read them: each is compiled once, however often it stands there.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Clock, Engine, Failed, Names};

/// What was made of a text: what it names, or why it cannot be read.
pub(crate) type Read = Result<Rc<Names>, Failed>;

/// An engine, and what it has said so far.
pub(crate) struct Reading {
    engine: Engine,
    expressions: HashMap<String, Read>,
    values: HashMap<String, Read>,
    filters: HashMap<String, bool>,
    tests: HashMap<String, bool>,
}

impl Reading {
    pub(crate) fn new() -> Self {
        Self {
            engine: Engine::new(&Clock { at: 0, seed: String::new() }),
            expressions: HashMap::new(),
            values: HashMap::new(),
            filters: HashMap::new(),
            tests: HashMap::new(),
        }
    }

    /// What a bare expression names.
    pub(crate) fn expression(&mut self, source: &str) -> Read {
        once(&mut self.expressions, source, || self.engine.expression(source).map(Rc::new))
    }

    /// What a text with or without placeholders names.
    pub(crate) fn value(&mut self, source: &str) -> Read {
        once(&mut self.values, source, || self.engine.template(source).map(Rc::new))
    }

    /// Whether there is a filter of that name.
    pub(crate) fn has_filter(&mut self, name: &str) -> bool {
        once(&mut self.filters, name, || self.engine.has_filter(name))
    }

    /// Whether there is a test of that name.
    pub(crate) fn has_test(&mut self, name: &str) -> bool {
        once(&mut self.tests, name, || self.engine.has_test(name))
    }
}

fn once<T: Clone>(known: &mut HashMap<String, T>, key: &str, make: impl FnOnce() -> T) -> T {
    if let Some(made) = known.get(key) {
        return made.clone();
    }
    let made = make();
    known.insert(key.to_owned(), made.clone());
    made
}
