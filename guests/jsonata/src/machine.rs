//! Evaluation: at a moment that is supplied, with functions of the caller's own, within bounds.

use std::cell::Cell;

use jsonata_core::evaluator::{Context, Evaluator, EvaluatorError, EvaluatorOptions};
use jsonata_core::parser;
use jsonata_core::value::JValue;

use crate::data::Data;
use crate::expression::Expression;
use crate::fault::Fault;
use crate::signature::Signature;

/// LIMIT: levels of evaluation. A call that is no tail call takes about three. A guest's stack does not grow as a native one
/// does.
pub const DEPTH_MAX: usize = if cfg!(target_family = "wasm") { 400 } else { 1_200 };
/// LIMIT: items of a list that a path, a range or a function gives: as many as the language allows, and in a guest as many as
/// its memory holds.
pub const LENGTH_MAX: usize = if cfg!(target_family = "wasm") { 1_000_000 } else { 10_000_000 };

/// What an evaluation sees of the world.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// `$now` and `$millis`: milliseconds since the Unix epoch.
    pub now: u64,
    /// Where `$random` and `$shuffle` begin.
    pub seed: u64,
}

/// Evaluates expressions.
pub struct Machine {
    evaluator: Evaluator,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Machine")
    }
}

/// A function of the caller's: the values of its parameters to its value.
pub type Native = Box<dyn Fn(&[Data]) -> Result<Data, String>>;

impl Machine {
    /// A machine with functions by name. Each has a signature in JSONata's own notation, by which its arguments are checked
    /// before it is called: `("executionCount", "<s:n>", ..)`.
    #[must_use]
    pub fn new(moment: Moment, functions: Vec<(&'static str, &str, Native)>) -> Self {
        #[cfg(all(target_family = "wasm", target_os = "unknown"))]
        crate::entropy::set(moment);
        let mut context = Context::new();
        let now = moment.now;
        bind(&mut context, "now", &format!("function($picture, $zone)<s?s?:s>{{$fromMillis({now}, $picture, $zone)}}"));
        bind(&mut context, "millis", &format!("function()<:n>{{{now}}}"));
        let options = EvaluatorOptions {
            max_stack_depth: Some(DEPTH_MAX),
            max_sequence_length: Some(LENGTH_MAX),
            timeout_ms: None,
            cancel: None,
        };
        let mut evaluator = Evaluator::with_options(context, options);
        for (name, signature, native) in functions {
            let signature = Signature::new(signature);
            let called = move |args: &[JValue]| {
                signature.check(name, args).map_err(EvaluatorError::TypeError)?;
                let args: Vec<Data> = args.iter().cloned().map(Data).collect();
                native(&args).map(|data| data.0).map_err(EvaluatorError::EvaluationError)
            };
            // Refused only for the name of a built-in function.
            let _ = evaluator.register_fn(name, called);
        }
        chance(&mut evaluator, moment.seed);
        Self { evaluator }
    }

    /// The value of an expression over these data.
    pub fn evaluate(&mut self, expression: &Expression, data: &Data) -> Result<Data, Fault> {
        self.evaluator.evaluate(&expression.0, &data.0).map(Data).map_err(|error| Fault::of_evaluator(&error))
    }
}

/// Binds a function that is written in JSONata.
fn bind(context: &mut Context, name: &str, text: &str) {
    if let Ok(tree) = parser::parse(text)
        && let Ok(function) = Evaluator::new().evaluate(&tree, &JValue::Undefined)
    {
        context.bind(name.to_owned(), function);
    }
}

/// Chance that a replay repeats: SplitMix64 from the seed.
fn chance(evaluator: &mut Evaluator, seed: u64) {
    let state = std::rc::Rc::new(Cell::new(seed));
    let next = move |state: &Cell<u64>| {
        let now = state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        state.set(now);
        let mixed = (now ^ (now >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let own = std::rc::Rc::clone(&state);
    let random = move |_: &[JValue]| {
        let bits = u32::try_from(next(&own) >> 32).unwrap_or(0);
        Ok(JValue::from_f64(f64::from(bits) / 4_294_967_296.0))
    };
    let shuffle = move |args: &[JValue]| {
        let Some(first) = args.first().filter(|one| !one.is_undefined()) else { return Ok(JValue::Undefined) };
        let mut items = first.as_array().map_or_else(|| vec![first.clone()], Clone::clone);
        for last in (1..items.len()).rev() {
            let bound = u64::try_from(last + 1).unwrap_or(1);
            items.swap(last, usize::try_from(next(&state) % bound).unwrap_or(0));
        }
        Ok(JValue::array(items))
    };
    let _ = evaluator.register_fn_override("random", random);
    let _ = evaluator.register_fn_override("shuffle", shuffle);
}
