//! The versions of the contract that this host speaks, and what an older one says otherwise. The rest of the host sees the
//! types of the current one.
//!
//! The sandbox compares types by their shape. So a function whose types are the same in every version is called with the
//! current ones, and needs nothing here; one that differs gets a method, as `describe` has.

use std::sync::Arc;

use wasmtime::component::InstancePre;

use super::bindings::{self, contract, v0_1_0};
use super::call::{self, Function, Inside};
use super::fault::CallFault;
use super::runtime::Runtime;
use crate::limits::CallLimits;

/// The interface that a plugin exports, without its version.
pub(super) const INTERFACE: &str = "wfhost:engine/engine";

/// A version of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Released.
    V0_1_0,
    /// The current one.
    V0_2_0,
}

impl Version {
    /// All that are spoken, the oldest first.
    pub const ALL: [Self; 2] = [Self::V0_1_0, Self::V0_2_0];

    /// The newest.
    pub const CURRENT: Self = Self::V0_2_0;

    /// Its number, as the package has it.
    #[must_use]
    pub const fn number(self) -> &'static str {
        match self {
            Self::V0_1_0 => "0.1.0",
            Self::V0_2_0 => "0.2.0",
        }
    }

    /// The text of its WIT file.
    #[must_use]
    pub const fn wit(self) -> &'static str {
        match self {
            Self::V0_1_0 => include_str!("../../../wit/released/0.1.0/engine.wit"),
            Self::V0_2_0 => include_str!("../../../wit/engine.wit"),
        }
    }

    /// The version of that number, if it is spoken here.
    #[must_use]
    pub fn of(number: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.number() == number)
    }

    /// What a component of this version exports.
    pub(crate) fn interface(self) -> String {
        format!("{INTERFACE}@{}", self.number())
    }

    /// All of them in words: "0.1.0 and 0.2.0".
    pub(crate) fn spoken() -> String {
        Self::ALL.map(Self::number).join(" and ")
    }

    /// Holds a component against every record and function of this version, on an instance that nothing is called in.
    pub(super) fn check(self, runtime: &Arc<Runtime>, pre: &InstancePre<Inside>) -> wasmtime::Result<()> {
        match self {
            Self::V0_1_0 => {
                let whole = v0_1_0::InterpreterPre::new(pre.clone())?;
                call::check(runtime, |store| whole.instantiate(store).map(drop))
            }
            Self::V0_2_0 => {
                let whole = bindings::InterpreterPre::new(pre.clone())?;
                call::check(runtime, |store| whole.instantiate(store).map(drop))
            }
        }
    }

    /// Asks a plugin who it is.
    pub(super) fn describe(
        self,
        runtime: &Arc<Runtime>,
        function: Function<'_>,
        limits: CallLimits,
    ) -> Result<contract::Interpreter, CallFault> {
        match self {
            Self::V0_1_0 => {
                call::call::<_, v0_1_0::contract::Interpreter>(runtime, function, limits, ()).map(Into::into)
            }
            Self::V0_2_0 => call::call(runtime, function, limits, ()),
        }
    }
}

/// 0.1.0 knew no skill.
impl From<v0_1_0::contract::Interpreter> for contract::Interpreter {
    fn from(old: v0_1_0::contract::Interpreter) -> Self {
        let v0_1_0::contract::Interpreter { name, version, title, files, marks, languages, schema } = old;
        Self { name, version, title, files, marks, languages, schema, skill: None }
    }
}
