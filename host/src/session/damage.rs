//! What a check of a journal can find, by name and in words.

/// What was found wrong with a journal.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "code")]
pub enum Damage {
    /// Lines at the end are gone, or all of them.
    Cut {
        /// How many there are.
        found: u64,
        /// How many the head counts.
        counted: u64,
    },
    /// There are more lines than the head counts.
    Longer {
        /// How many the head counts.
        counted: u64,
    },
    /// A line cannot be read.
    Unreadable {
        /// Its number.
        line: u64,
        /// Why.
        reason: String,
    },
    /// A line stands where another belongs: re-ordered, inserted, or one before it was taken out.
    Misplaced {
        /// Where it stands.
        line: u64,
        /// The number that it bears.
        bears: u64,
    },
    /// A line of another session.
    Foreign {
        /// Where it stands.
        line: u64,
        /// Whose it is.
        session: String,
    },
    /// A line does not say what it said when the next one was written.
    Altered {
        /// Its number.
        line: u64,
    },
    /// The journal begins from another plugin, definition, owner or start than the head names.
    OtherBeginning,
    /// The state in the head is not the one that the last turn left.
    State {
        /// The line of that turn.
        line: u64,
    },
    /// Something else in the head is not what the last turn left.
    Head {
        /// `requests`, `current`, `outcome`, `window`, `memories`, `entries` or `fork`.
        field: String,
    },
    /// Memories are missing, or are not those that were remembered.
    Memories {
        /// The line of the turn that remembered them.
        line: u64,
    },
    /// What the session is pinned to is missing, or is not what its name says.
    Pinned {
        /// `plugin` or `definition`.
        what: String,
    },
    /// Lines that no seal of a known key covers: whoever could write the store could write them.
    Unsigned {
        /// The first line.
        from: u64,
        /// The last line.
        to: u64,
    },
    /// The seal does not fit: the chain was written anew, or the seal was.
    BadSignature {
        /// Lines that it is said to cover.
        lines: u64,
    },
    /// The seal is good, and of a key that was not named.
    OtherKey {
        /// The public key.
        key: String,
    },
    /// The head is not the one that was exported: the session was cut, or its whole chain written anew.
    OtherHead {
        /// Lines that the exported head counts.
        lines: u64,
    },
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cut { found, counted } => {
                write!(f, "the journal is cut: {found} lines are there, the head counts {counted}")
            }
            Self::Longer { counted } => write!(f, "the journal has lines after the {counted} that the head counts"),
            Self::Unreadable { line, reason } => write!(f, "line {line} cannot be read: {reason}"),
            Self::Misplaced { line, bears } => {
                write!(f, "line {line} bears the number {bears}: lines were re-ordered, put in or taken out")
            }
            Self::Foreign { line, session } => write!(f, "line {line} is one of session {session}"),
            Self::Altered { line } => write!(f, "line {line} was altered after it was written"),
            Self::OtherBeginning => {
                write!(f, "the journal does not begin from the plugin, definition and start that the head names")
            }
            Self::State { line } => write!(f, "the head's state is not the one that line {line} left"),
            Self::Head { field } => write!(f, "the head's {field} are not what the last turn left"),
            Self::Memories { line } => write!(f, "the memories that line {line} added are missing or altered"),
            Self::Pinned { what } => write!(f, "the {what} that the session is pinned to is missing or altered"),
            Self::Unsigned { from, to } if from == to => write!(f, "line {from} bears no signature"),
            Self::Unsigned { from, to } => write!(f, "lines {from} to {to} bear no signature"),
            Self::BadSignature { lines } => {
                write!(f, "the signature over {lines} lines does not fit: the chain or the signature was written anew")
            }
            Self::OtherKey { key } => write!(f, "it is signed with another key, {key}"),
            Self::OtherHead { lines } => {
                write!(f, "the session is not the one whose head with {lines} lines was exported")
            }
        }
    }
}
