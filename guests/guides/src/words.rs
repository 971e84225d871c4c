//! The text `next`: what the agent is to do now, in words. The flow's own texts stand in it as they are, each at the end of
//! its line, so that any script reads well in it.

use std::fmt::Write;

use wfhost_guest::packed::Broken;

use crate::code::{Code, StepKind};
use crate::document::model::{OTHER, UNKNOWN};
use crate::fold::{Branch, Way, fold};
use crate::state::{Mode, State, Status};

/// What to do now.
pub(crate) fn next(code: Code<'_>, state: &State<'_>) -> Result<String, Broken> {
    let last = &state.last;
    let mut text = match last.status {
        Status::Unmatched => {
            format!("No label fits that answer ({} of {}). Ask again.\n", state.misses, code.limits.max_unmatched)
        }
        Status::Branched => cases(code, state)?,
        Status::Advanced if last.kept => "Noted. Still open:\n".to_owned(),
        Status::Advanced | Status::Completed | Status::Stalled => String::new(),
    };
    let settled = last.status != Status::Branched || last.fold.as_deref() != Some(state.at.id);
    match state.mode {
        Mode::Stalled if code.on_stuck.is_empty() => text.push_str("Stop here and hand over to a person."),
        Mode::Stalled => push(&mut text, &["Stop here and hand over to a person: ", code.on_stuck]),
        Mode::Open | Mode::Completed if settled => node(state, &mut text)?,
        Mode::Open | Mode::Completed => {
            push(
                &mut text,
                &["If it becomes clear which case it is, send its label as choice. The question was: ", state.at.say],
            );
        }
    }
    if !last.rejected.is_empty() {
        let not_taken: Vec<String> =
            last.rejected.iter().map(|one| format!("{} ({})", one.key, one.why.word())).collect();
        push(&mut text, &["\nNot taken from values: ", &not_taken.join(", ")]);
    }
    Ok(text)
}

fn push(text: &mut String, parts: &[&str]) {
    text.extend(parts.iter().copied());
}

/// What the node in hand wants.
fn node(state: &State<'_>, text: &mut String) -> Result<(), Broken> {
    let say = state.at.say;
    match state.at.kind {
        StepKind::Ask(ask) => {
            push(text, &["Question: ", say, "\nThen send the label that fits as choice:"]);
            for label in ask.labels() {
                let label = label?;
                push(text, &["\n- ", label.label, ": ", label.when]);
            }
            if ask.other.is_some() {
                push(text, &["\n- ", OTHER, ": anything else"]);
            }
            push(text, &["\n- ", UNKNOWN, ": they do not know"]);
        }
        StepKind::Tell { .. } => push(text, &["Tell them: ", say, "\nThen call guide_answer to go on."]),
        StepKind::Collect(collect) => {
            push(text, &["Needed: ", say, "\nSend what you learn as values, in any order:"]);
            for slot in collect.slots() {
                let slot = slot?;
                if state.answer(slot.name).is_none() {
                    let required = if slot.required { " (required): " } else { " (optional): " };
                    push(text, &["\n- ", slot.name, required, slot.ask]);
                }
            }
            push(text, &["\nWhat they do not know is ", UNKNOWN, "; without a required one the run goes to a person."]);
        }
        StepKind::End { outcome } => push(text, &["Close with: ", say, "\nThe guidance is complete: ", outcome]),
    }
    Ok(())
}

/// The branches of what was folded, a line for each, and where they meet.
fn cases(code: Code<'_>, state: &State<'_>) -> Result<String, Broken> {
    let Some(folded) = &state.last.fold else { return Ok(String::new()) };
    let at = code.find(folded)?.ok_or(Broken)?;
    let fold = fold(code, at)?.map_err(|_| Broken)?;
    let mut text = String::new();
    if !fold.branches.is_empty() {
        push(&mut text, &["It is not known which case it is. Tell them what to do in each:\n"]);
        lines(&fold.branches, "", &mut text);
    }
    if fold.common.is_some() {
        text.push_str(if fold.branches.is_empty() {
            "The answer makes no difference. Go on:\n"
        } else {
            "In any case, then:\n"
        });
    }
    Ok(text)
}

fn lines(branches: &[Branch<'_>], before: &str, text: &mut String) {
    for branch in branches {
        let case = if before.is_empty() { branch.when.to_owned() } else { format!("{before}, {}", branch.when) };
        match &branch.way {
            Way::Question(_, inner) => lines(inner, &case, text),
            Way::Steps(steps) if steps.is_empty() => push(text, &["- ", &case, ": nothing special\n"]),
            Way::Steps(steps) => {
                let says: Vec<&str> = steps.iter().map(|step| step.say).collect();
                push(text, &["- ", &case, ": ", &says.join("; then: ")]);
                if let Some(StepKind::End { outcome }) = steps.last().map(|step| step.kind) {
                    // Writing to a text cannot fail.
                    let _ = write!(text, " (ends: {outcome})");
                }
                text.push('\n');
            }
        }
    }
}
