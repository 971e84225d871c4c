//! What can go wrong with a plugin, told with its name, for the operator.

/// A plugin cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LoadFault {
    /// `--plugin nosuch.wasm`.
    #[error("plugin `{plugin}` cannot be read: {reason}")]
    File {
        /// What was asked for.
        plugin: String,
        /// What the system said.
        reason: String,
    },
    /// A core module, a truncated file, a picture.
    #[error("plugin `{plugin}` is no WebAssembly component: {reason}")]
    NotAComponent {
        /// The plugin.
        plugin: String,
        /// What was found, and what to do.
        reason: String,
    },
    /// Built for WASI without the flag that leaves it out.
    #[error(
        "plugin `{plugin}` imports {imports}; a plugin may import nothing. Build it without: Rust for wasm32-unknown-unknown, \
         componentize-js with all `disableFeatures`, componentize-py with `--stub-wasi`"
    )]
    Imports {
        /// The plugin.
        plugin: String,
        /// The names, joined by commas.
        imports: String,
    },
    /// Another contract, or another version of it.
    #[error("plugin `{plugin}` speaks {found}, this host speaks {known}")]
    Contract {
        /// The plugin.
        plugin: String,
        /// What it exports.
        found: String,
        /// What is spoken here.
        known: String,
    },
    /// The right name and version, but not what they stand for.
    #[error("plugin `{plugin}` exports the contract in another shape: {reason}")]
    Shape {
        /// The plugin.
        plugin: String,
        /// What is missing or differs.
        reason: String,
    },
    /// Not among the operator's.
    #[error(
        "plugin `{plugin}` may not run: its digest sha256:{digest} is not among those that the policy `{policy}` allows; to \
             allow it, add `[[plugin]]` with `digest = \"sha256:{digest}\"`"
    )]
    Denied {
        /// The plugin.
        plugin: String,
        /// Its SHA-256.
        digest: String,
        /// The policy's file.
        policy: String,
    },
    /// It was loaded, and its first call failed or told nonsense.
    #[error("plugin `{plugin}` does not describe itself: {reason}")]
    Describe {
        /// The plugin.
        plugin: String,
        /// Why.
        reason: String,
    },
}

/// A call into a plugin came to nothing. The session is where it was, and the next call finds a fresh instance.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallFault {
    /// An abort, an unreachable, a stack overflow.
    #[error("plugin `{plugin}` trapped in `{function}`: {reason}")]
    Trap {
        /// The plugin.
        plugin: String,
        /// The contract's function.
        function: &'static str,
        /// The trap and where it happened.
        reason: String,
    },
    /// An endless loop.
    #[error("plugin `{plugin}` was stopped in `{function}`: it ran longer than {limit_ms} ms")]
    Time {
        /// The plugin.
        plugin: String,
        /// The contract's function.
        function: &'static str,
        /// The limit, milliseconds.
        limit_ms: u64,
    },
    /// A loop that the instruction count ends first.
    #[error("plugin `{plugin}` was stopped in `{function}`: it used up its {fuel} units of instructions")]
    Instructions {
        /// The plugin.
        plugin: String,
        /// The contract's function.
        function: &'static str,
        /// The limit, in fuel.
        fuel: u64,
    },
    /// A memory bomb.
    #[error("plugin `{plugin}` was stopped in `{function}`: it asked for more than {limit_mib} MiB of memory")]
    Memory {
        /// The plugin.
        plugin: String,
        /// The contract's function.
        function: &'static str,
        /// The limit, MiB.
        limit_mib: usize,
    },
    /// A reply of a gigabyte.
    #[error("plugin `{plugin}` was stopped in `{function}`: its answer is larger than {limit_mib} MiB")]
    Output {
        /// The plugin.
        plugin: String,
        /// The contract's function.
        function: &'static str,
        /// The limit, MiB.
        limit_mib: usize,
    },
    /// State that is no JSON, two requests with one id.
    #[error("plugin `{plugin}` gave a bad answer in `{function}`: {reason}")]
    Answer {
        /// The plugin.
        plugin: String,
        /// The contract's function.
        function: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}
