//! Where a plugin broke, in one line: what happened, and in which functions, the innermost first.

use wasmtime::{Error, WasmBacktrace};

/// Functions that are named.
const FRAMES_MAX: usize = 12;
/// Characters of one function's name.
const NAME_MAX: usize = 160;
/// Functions through which every abort of a Rust program goes: they hide whose it is.
const MACHINERY: [&str; 7] = [
    "core::panicking",
    "std::panicking",
    "__rust",
    "rust_panic",
    "rust_begin_unwind",
    "std::process::abort",
    "rtabort",
];

/// The trap and where it happened.
pub(super) fn told(error: &Error) -> String {
    let cause = one_line(&error.root_cause().to_string());
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return one_line(&format!("{error:#}")) };
    let shown = backtrace.to_string();
    let names: Vec<String> = shown.lines().filter_map(name).collect();
    let own: Vec<&String> = names.iter().filter(|name| !is_machinery(name)).collect();
    let chosen = if own.is_empty() { names.iter().collect() } else { own };
    if chosen.is_empty() {
        return cause;
    }
    let more = if chosen.len() > FRAMES_MAX { " < …" } else { "" };
    let names: Vec<&str> = chosen.into_iter().take(FRAMES_MAX).map(String::as_str).collect();
    format!("{cause}, in {}{more}", names.join(" < "))
}

/// The function's name in a line such as `    3:   0x1f - module!crate::function::h0123456789abcdef`.
fn name(line: &str) -> Option<String> {
    let (number, rest) = line.trim_start().split_once(':')?;
    number.parse::<u32>().ok()?;
    let (_, named) = rest.split_once(" - ").unwrap_or(("", rest));
    let name = named.split_once('!').map_or(named, |(_, name)| name).trim();
    let name = name.rsplit_once("::h").filter(|(_, hash)| is_hash(hash)).map_or(name, |(name, _)| name);
    let name = without_hashes(name);
    (!name.is_empty()).then(|| name.chars().take(NAME_MAX).collect())
}

/// `core[c5930c85a12de822]::fmt` without what tells two builds of a crate apart.
fn without_hashes(name: &str) -> String {
    let mut parts = name.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| match part.split_once(']') {
        Some((hash, rest)) if hash.len() >= 8 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => shown + rest,
        _ => shown + "[" + part,
    })
}

fn is_hash(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_machinery(name: &str) -> bool {
    MACHINERY.iter().any(|part| name.contains(part))
}

fn one_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match joined.char_indices().nth(600) {
        Some((cut, _)) => format!("{}…", joined.get(..cut).unwrap_or_default()),
        None => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_its_functions_name() {
        let line = "    3:   0x1f - checklist.wasm!checklist::turn::h0123456789abcdef";
        assert_eq!(name(line).as_deref(), Some("checklist::turn"));
        assert_eq!(name("    0:   0x7 - <unknown>!answer").as_deref(), Some("answer"));
        assert_eq!(name("   12: 0x7 - <wasm function 5>").as_deref(), Some("<wasm function 5>"));
        let newer =
            "    1: 0x7 - probe.wasm!<core[c5930c85a12de822]::fmt::Debug as probe[0123456789abcdef]::Do>::it::<[u8]>";
        assert_eq!(name(newer).as_deref(), Some("<core::fmt::Debug as probe::Do>::it::<[u8]>"));
        assert_eq!(name("error while executing at wasm backtrace:"), None);
        assert_eq!(name("                    at /src/lib.rs:4"), None);
        assert!(is_machinery("core::panicking::panic_fmt") && !is_machinery("std::time::SystemTime::now"));
    }
}
