//! The signature of a function of ours, in JSONata's own notation, and the check of its arguments. The library checks lambdas
//! in this way and builds a regular expression at each call to do so; functions in a loop are called often.

use jsonata_core::value::JValue;

/// What a function takes: `<s-n?:o>` is a text, which the context may give, and a number that may be left out.
#[derive(Clone, Debug)]
pub(crate) struct Signature(Vec<Parameter>);

#[derive(Clone, Copy, Debug)]
struct Parameter {
    kind: char,
    optional: bool,
}

impl Signature {
    /// Reads the parameters of a signature: letters of single types, each perhaps with `?` or `-` behind it.
    pub(crate) fn new(text: &str) -> Self {
        let list = text.trim_start_matches('<').split(':').next().unwrap_or_default();
        let mut parameters: Vec<Parameter> = Vec::new();
        for letter in list.chars() {
            match (letter, parameters.last_mut()) {
                ('?', Some(last)) => last.optional = true,
                // LIMIT: the library shows a function no context, so one that is to come from there must be written out.
                ('-', _) => {}
                (kind, _) => parameters.push(Parameter { kind, optional: false }),
            }
        }
        Self(parameters)
    }

    /// The fault of the first argument that does not fit. No value fits everywhere.
    pub(crate) fn check(&self, name: &str, args: &[JValue]) -> Result<(), String> {
        let wrong = |index: usize| {
            Err(format!("T0410: Argument {} of function {name} does not match function signature", index + 1))
        };
        if args.len() > self.0.len() {
            return wrong(self.0.len());
        }
        for (index, parameter) in self.0.iter().enumerate() {
            match args.get(index) {
                None if parameter.optional => {}
                None => return wrong(index),
                Some(value) if fits(parameter.kind, value) => {}
                Some(_) => return wrong(index),
            }
        }
        Ok(())
    }
}

fn fits(kind: char, value: &JValue) -> bool {
    if value.is_undefined() {
        return true;
    }
    match kind {
        's' => value.is_string(),
        'n' => value.is_number(),
        'b' => value.is_bool(),
        'a' => value.is_array(),
        'o' => value.is_object(),
        'f' => value.is_function(),
        _ => true,
    }
}
