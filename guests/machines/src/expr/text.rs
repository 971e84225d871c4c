//! What kind of text a text is, and the filters and tests that it names: the engine finds these only when it runs them.

/// How a text of a document is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form<'s> {
    /// It stands for itself.
    Literal,
    /// It is one placeholder and gives the value with its type.
    Placeholder(&'s str),
    /// It is rendered to text.
    Template,
}

/// The form of a text, going by its braces: what stands between those of a placeholder may still be no expression, and then it
/// is a template.
pub(crate) fn form(source: &str) -> Form<'_> {
    if !["{{", "{%", "{#"].iter().any(|mark| source.contains(mark)) {
        return Form::Literal;
    }
    match source.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")) {
        Some(inner) if !inner.starts_with(['-', '+']) && !inner.ends_with(['-', '+']) => Form::Placeholder(inner),
        Some(_) | None => Form::Template,
    }
}

/// The parts of a text that is only a name or a dotted path.
pub(super) fn path(source: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = source.trim().split('.').collect();
    let is_name = |part: &&str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|c| c.is_alphanumeric() || c == '_')
    };
    let word = parts.len() == 1
        && matches!(parts.first(), Some(&("true" | "false" | "none" | "True" | "False" | "None" | "not")));
    (parts.iter().all(is_name) && !word).then_some(parts)
}

/// What an expression or a template names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Variables, sorted.
    pub(crate) variables: Vec<String>,
    /// Filters.
    pub(crate) filters: Vec<String>,
    /// Tests.
    pub(crate) tests: Vec<String>,
}

/// Filters and tests that a text names, outside its quotes.
pub(crate) fn names(source: &str) -> Names {
    let mut found = Names::default();
    let words = words(source);
    for (index, word) in words.iter().enumerate() {
        let next = |skip: usize| words.get(index + skip).map(String::as_str).unwrap_or_default();
        let name = |word: &str| word.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        match word.as_str() {
            "|" if name(next(1)) => found.filters.push(next(1).to_owned()),
            "is" if next(1) == "not" && name(next(2)) => found.tests.push(next(2).to_owned()),
            "is" if name(next(1)) => found.tests.push(next(1).to_owned()),
            _ => {}
        }
    }
    found
}

/// What stands inside the placeholders and blocks of a template.
pub(super) fn inside(source: &str) -> String {
    let mut code = String::new();
    let mut rest = source;
    while let Some(at) = rest.find("{{").into_iter().chain(rest.find("{%")).min() {
        let (_, tail) = rest.split_at(at);
        let end = if tail.starts_with("{{") { "}}" } else { "%}" };
        let (inner, after) = tail.get(2..).unwrap_or_default().split_once(end).unwrap_or((tail, ""));
        code.push_str(inner);
        code.push('\n');
        rest = after;
    }
    code
}

/// Words and signs, without what stands in quotes.
fn words(source: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut quote: Option<char> = None;
    let mut inside = false;
    let mut letters = source.chars();
    while let Some(letter) = letters.next() {
        if let Some(end) = quote {
            match letter {
                '\\' => drop(letters.next()),
                letter if letter == end => quote = None,
                _ => {}
            }
            continue;
        }
        let part = letter.is_alphanumeric() || letter == '_';
        if part && inside {
            if let Some(word) = words.last_mut() {
                word.push(letter);
            }
        } else if part || !letter.is_whitespace() {
            words.push(letter.to_string());
        }
        inside = part;
        if matches!(letter, '"' | '\'') {
            quote = Some(letter);
        }
    }
    words
}
