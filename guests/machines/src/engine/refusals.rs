//! The five refusals of a step: their words, what they carry, and whether a client sees them as an error.

use wfhost_guest::python;
use wfhost_guest::value::Value;

use super::effects::seconds;
use super::perform::No;
use super::ways::Way;
use crate::args::Step;
use crate::reply::timeout_seconds;

/// Why a step was refused.
#[derive(Clone, Debug)]
pub(crate) enum Refused {
    /// There is no such action.
    Unknown,
    /// It cannot come next.
    Unreachable,
    /// A step of this name is under way.
    Busy(String),
    /// The action itself says no; with the sub-machines that it had run.
    No(No, Vec<Value>),
}

impl Refused {
    /// Its word.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown_action",
            Self::Unreachable | Self::Busy(_) => "invalid_transition",
            Self::No(No::Inputs { .. }, _) => "validation_failed",
            Self::No(No::Error { .. }, _) => "action_error",
            Self::No(No::Timeout(_), _) => "action_timeout",
        }
    }

    /// Whether the client is told that the call failed: when the action was run and failed.
    pub(crate) fn is_error(&self) -> bool {
        matches!(self, Self::No(No::Error { .. } | No::Timeout(_), _))
    }

    /// The kind of an action's own error.
    pub(crate) fn kind(&self) -> Option<&str> {
        if let Self::No(No::Error { kind, .. }, _) = self { Some(kind) } else { None }
    }

    /// What is wrong, for a reader.
    pub(crate) fn message(&self, step: &Step, ways: &[Way<'_>]) -> String {
        let names = || python::repr_list(ways.iter().map(|way| way.action.name));
        match self {
            Self::Unknown => {
                format!("unknown action '{}'. Reachable actions from the current state: {}.", step.action, names())
            }
            Self::Unreachable => {
                format!("action '{}' is not reachable from current state. Valid actions now: {}.", step.action, names())
            }
            Self::Busy(action) => format!("action '{action}' is still under way; wait for it, or reset the session."),
            Self::No(No::Inputs { reason, .. }, _) => reason.clone(),
            Self::No(No::Error { message, .. }, _) => message.clone(),
            Self::No(No::Timeout(deadline), _) => {
                format!("action '{}' exceeded the {}s timeout", step.action, seconds(deadline.millis))
            }
        }
    }

    /// What its reply carries beyond what every refusal does.
    pub(crate) fn members(&self, step: &Step, ways: &[Way<'_>], ending: Option<&str>) -> Vec<(&'static str, Value)> {
        match self {
            Self::Unreachable => {
                let message = match ending {
                    Some(ending) => format!(
                        "action '{}' is not reachable from current state. Valid actions now: (none, {ending}).",
                        step.action
                    ),
                    None => self.message(step, ways),
                };
                vec![("message", message.into())]
            }
            Self::Unknown => vec![("message", self.message(step, ways).into())],
            Self::Busy(action) => {
                vec![("message", self.message(step, ways).into()), ("in_progress", action.as_str().into())]
            }
            Self::No(No::Inputs { reason, details }, _) => {
                vec![("reason", reason.as_str().into()), ("details", details.clone())]
            }
            Self::No(No::Error { kind, message }, _) => {
                vec![("error_type", kind.as_str().into()), ("error_message", message.as_str().into())]
            }
            Self::No(No::Timeout(deadline), _) => {
                let message = self.message(step, ways);
                vec![("timeout_seconds", timeout_seconds(deadline.millis)), ("message", message.into())]
            }
        }
    }
}
