//! A text that was read as an expression, or the place where it cannot be.

use jsonata_core::ast::AstNode;
use jsonata_core::parser;

use crate::fault::Fault;
use crate::nesting;

/// LIMIT: bytes of an expression.
const TEXT_MAX: usize = 64 << 10;
/// LIMIT: tries to find the place of a fault.
const TRIES_MAX: usize = 4_096;

/// An expression, read once and evaluated as often as one likes.
#[derive(Debug)]
pub struct Expression(pub(crate) AstNode);

impl Expression {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        if text.len() > TEXT_MAX {
            let message = format!("the expression has {} bytes, more than the {TEXT_MAX} that are read", text.len());
            return Err(Fault::new("U1002", message));
        }
        if nesting::too_deep(text) {
            let message = format!("the expression is nested deeper than {} levels", nesting::LEVELS_MAX);
            return Err(Fault::new("U1002", message));
        }
        parser::parse(text).map(Self).map_err(|error| {
            let fault = Fault::of_parser(&error);
            Fault { at: place(text, &fault), ..fault }
        })
    }
}

/// The library tells no place. But it reads from left to right and stops at the first fault: of the beginnings of a text, those
/// that hold the faulty token fail in the same way, and shorter ones do not.
fn place(text: &str, fault: &Fault) -> Option<usize> {
    let ends: Vec<usize> = text.char_indices().map(|(at, letter)| at + letter.len_utf8()).collect();
    let same = |count: &usize| {
        let head = count.checked_sub(1).and_then(|last| ends.get(last)).and_then(|end| text.get(..*end));
        head.is_some_and(|head| parser::parse(head).is_err_and(|error| Fault::of_parser(&error) == *fault))
    };
    let tried = (1..=ends.len()).rev().take(TRIES_MAX);
    let shortest = tried.take_while(same).last()?;
    // Where the end itself is the fault, its place is behind the last character.
    let at_end = matches!(fault.code.as_str(), "S0203" | "S0207");
    if at_end {
        return Some(text.trim_end().chars().count());
    }
    let letters: Vec<char> = text.chars().take(shortest).collect();
    let word = |letter: &&char| letter.is_alphanumeric() || **letter == '_' || **letter == '$';
    let tail = letters.iter().rev().take_while(word).count().max(1);
    Some(shortest - tail)
}
