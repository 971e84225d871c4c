//! The report of `wfhost test` as JUnit's XML, as CI systems read it.

use std::fmt::Write as _;

use super::{Case, Outcome, shown};

/// One suite with a case for each walk.
pub(super) fn report(cases: &[Case]) -> String {
    let bad = |case: &&Case| !matches!(case.outcome, Outcome::Same | Outcome::Blessed);
    let (all, failures) = (cases.len(), cases.iter().filter(bad).count());
    let seconds: f64 = cases.iter().map(|case| case.seconds).sum();
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{all}\" failures=\"{failures}\" time=\"{seconds:.3}\">\n  \
         <testsuite name=\"wfhost\" tests=\"{all}\" failures=\"{failures}\" time=\"{seconds:.3}\">\n"
    );
    for case in cases {
        let (name, class) = (escaped(&case.file.display().to_string()), escaped(&case.workflow));
        let _ = write!(xml, "    <testcase name=\"{name}\" classname=\"{class}\" time=\"{:.3}\"", case.seconds);
        match failure(case) {
            None => xml.push_str("/>\n"),
            Some((message, text)) => {
                let (message, text) = (escaped(&message), escaped(&text));
                let _ = writeln!(xml, ">\n      <failure message=\"{message}\">{text}</failure>\n    </testcase>");
            }
        }
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn failure(case: &Case) -> Option<(String, String)> {
    match &case.outcome {
        Outcome::Same | Outcome::Blessed => None,
        Outcome::Unfit(why) => Some((why.clone(), String::new())),
        Outcome::Otherwise(mismatches) => {
            let line = case.line.map(|line| format!(" (line {line})")).unwrap_or_default();
            let first = mismatches.first().map(|m| format!("step {}{line}: {}", m.step, m.field)).unwrap_or_default();
            let text = mismatches.iter().map(|m| {
                format!("step {}, {}\nexpected {}\ngot      {}\n", m.step, m.field, shown(&m.expected), shown(&m.got))
            });
            Some((first, text.collect()))
        }
    }
}

/// Text as XML 1.0 may hold it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(escaped("a<b>&\"c\"\u{1b}[2J\nd"), "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}[2J\nd");
    }

    #[test]
    fn a_report_counts_what_failed() {
        let case =
            |outcome| Case { file: "a.walk.yaml".into(), workflow: "w".into(), outcome, line: Some(7), seconds: 0.5 };
        let mismatch = super::super::Mismatch { step: 2, field: "reply".into(), expected: 1.into(), got: 2.into() };
        let xml = report(&[case(Outcome::Same), case(Outcome::Otherwise(vec![mismatch]))]);
        assert!(xml.contains("<testsuites tests=\"2\" failures=\"1\" time=\"1.000\">"), "{xml}");
        assert!(
            xml.contains(
                "<failure message=\"step 2 (line 7): reply\">step 2, reply\nexpected 1\ngot      2\n</failure>"
            ),
            "{xml}"
        );
    }
}
