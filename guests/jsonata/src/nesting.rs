//! How deep an expression can be, told from its tokens before anything recurses into it: the library's own bounds are made
//! for a stack that grows, and a guest's does not.

use jsonata_core::parser::{Lexer, Token};

/// LIMIT: levels of an expression. Brackets count, and operators in a row: `a + b + c` is two levels deep.
pub(crate) const LEVELS_MAX: usize = 250;

/// Whether an expression is deeper than that. Whatever is no token ends the count; the parser tells of it.
pub(crate) fn too_deep(text: &str) -> bool {
    let mut lexer = Lexer::new(text.to_owned());
    let mut outer: Vec<usize> = Vec::new();
    let mut here = 0_usize;
    loop {
        let Ok(token) = lexer.next_token() else { return false };
        match token {
            Token::Eof => return false,
            Token::LeftParen | Token::LeftBracket | Token::LeftBrace => {
                here += 1;
                outer.push(here);
            }
            Token::RightParen | Token::RightBracket | Token::RightBrace => here = outer.pop().unwrap_or_default(),
            Token::Comma | Token::Semicolon => here = outer.last().copied().unwrap_or_default(),
            Token::String(_)
            | Token::Number(_)
            | Token::True
            | Token::False
            | Token::Null
            | Token::Undefined
            | Token::Regex { .. }
            | Token::Identifier(_)
            | Token::Variable(_)
            | Token::ParentVariable(_)
            | Token::Function(_) => {}
            Token::Plus
            | Token::Minus
            | Token::Star
            | Token::StarStar
            | Token::Slash
            | Token::Percent
            | Token::Equal
            | Token::NotEqual
            | Token::LessThan
            | Token::LessThanOrEqual
            | Token::GreaterThan
            | Token::GreaterThanOrEqual
            | Token::And
            | Token::Or
            | Token::In
            | Token::Ampersand
            | Token::Dot
            | Token::DotDot
            | Token::Question
            | Token::QuestionQuestion
            | Token::QuestionColon
            | Token::Colon
            | Token::ColonEqual
            | Token::TildeArrow
            | Token::Caret
            | Token::Pipe
            | Token::Hash
            | Token::At => here += 1,
        }
        if here > LEVELS_MAX {
            return true;
        }
    }
}
