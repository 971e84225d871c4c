//! The operator's word about plugins: which may run, and what each may use. A file in TOML; what it says and this host does not
//! understand is refused, since a limit that nobody reads is worse than none.

use std::num::NonZeroU64;
use std::path::Path;

use serde::Deserialize;

use super::builtin::builtins;
use crate::limits::{CallLimits, PluginLimits};
use crate::session::model::Digest;

/// Memory, and bytes in and out, that a policy may allow to one call, MiB.
const MIB_MAX: u64 = 1_024;
/// Time that a policy may allow to one call, milliseconds.
const TIME_MS_MAX: u64 = 600_000;

/// The policy cannot be taken.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PolicyFault {
    /// `--policy nosuch.toml`.
    #[error("the policy `{0}` cannot be read: {1}")]
    File(String, String),
    /// `memory_mib = "64M"`, a key that is not known, a digest of 63 digits.
    #[error("{0}:{1}: the policy cannot be taken: {2}")]
    Text(String, usize, String),
}

/// Which plugins may run, and what each may use.
#[derive(Debug, Clone)]
pub struct Policy {
    origin: String,
    built_in: bool,
    all: PluginLimits,
    plugins: Vec<(Digest, PluginLimits)>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    /// Whether the plugins that the program carries may run without being named.
    built_in: Option<bool>,
    call: Limits,
    load: Limits,
    plugin: Vec<Named>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    digest: toml::Spanned<String>,
    /// For people.
    #[serde(default)]
    #[expect(dead_code, reason = "it is allowed in the file, and nothing is done with it")]
    note: Option<String>,
    #[serde(default)]
    call: Limits,
    #[serde(default)]
    load: Limits,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Limits {
    memory_mib: Option<toml::Spanned<NonZeroU64>>,
    time_ms: Option<toml::Spanned<NonZeroU64>>,
    fuel: Option<NonZeroU64>,
    copied_mib: Option<toml::Spanned<NonZeroU64>>,
}

impl Policy {
    /// Reads the file.
    pub fn from_file(path: &Path) -> Result<Self, PolicyFault> {
        let origin = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|error| PolicyFault::File(origin.clone(), error.to_string()))?;
        Self::read(&origin, &text)
    }

    /// Reads its text. `origin` names it in messages.
    pub fn read(origin: &str, text: &str) -> Result<Self, PolicyFault> {
        let at = |offset: usize, reason: String| {
            let line = text.get(..offset).unwrap_or_default().matches('\n').count() + 1;
            PolicyFault::Text(origin.to_owned(), line, reason)
        };
        let written: Written = toml::from_str(text)
            .map_err(|error| at(error.span().map_or(0, |span| span.start), error.message().to_owned()))?;
        let within =
            |limits: &Limits, base: CallLimits| limits.over(base).map_err(|(offset, reason)| at(offset, reason));
        let standard = PluginLimits::default();
        let all =
            PluginLimits { call: within(&written.call, standard.call)?, load: within(&written.load, standard.load)? };
        let mut plugins: Vec<(Digest, PluginLimits)> = Vec::new();
        for named in &written.plugin {
            let offset = named.digest.span().start;
            let text = named.digest.get_ref();
            let digest: Digest = text.strip_prefix("sha256:").unwrap_or(text).parse().map_err(|_| {
                at(
                    offset,
                    format!("`{text}` is no digest: `sha256:` and 64 hex digits, as `wfhost plugin list` prints them"),
                )
            })?;
            if plugins.iter().any(|(other, _)| *other == digest) {
                return Err(at(offset, format!("`{text}` is named twice")));
            }
            let limits = PluginLimits { call: within(&named.call, all.call)?, load: within(&named.load, all.load)? };
            plugins.push((digest, limits));
        }
        Ok(Self { origin: origin.to_owned(), built_in: written.built_in.unwrap_or(true), all, plugins })
    }

    /// What a plugin may use; none: it may not run.
    #[must_use]
    pub fn limits(&self, digest: Digest) -> Option<PluginLimits> {
        let named = self.plugins.iter().find(|(one, _)| *one == digest).map(|(_, limits)| *limits);
        let ours = || self.built_in && builtins().iter().any(|builtin| Digest::of(builtin.wasm) == digest);
        named.or_else(|| ours().then_some(self.all))
    }

    /// Where it came from.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The most memory that any call may have, bytes.
    pub(super) fn memory_max(&self) -> usize {
        let most = |limits: &PluginLimits| limits.call.memory_bytes.max(limits.load.memory_bytes);
        self.plugins.iter().map(|(_, limits)| most(limits)).chain([most(&self.all)]).max().unwrap_or(0)
    }
}

impl Limits {
    fn over(&self, base: CallLimits) -> Result<CallLimits, (usize, String)> {
        let bounded = |value: &Option<toml::Spanned<NonZeroU64>>, name: &str, max: u64| match value {
            Some(value) if value.get_ref().get() > max => {
                Err((value.span().start, format!("`{name}` is {}, at most {max} is allowed", value.get_ref())))
            }
            Some(value) => Ok(Some(value.get_ref().get())),
            None => Ok(None),
        };
        let mib = |value, name| {
            let bytes = |mib: u64| usize::try_from(mib << 20).unwrap_or(usize::MAX);
            bounded(value, name, MIB_MAX).map(|mib| mib.map(bytes))
        };
        Ok(CallLimits {
            memory_bytes: mib(&self.memory_mib, "memory_mib")?.unwrap_or(base.memory_bytes),
            time_ms: bounded(&self.time_ms, "time_ms", TIME_MS_MAX)?.unwrap_or(base.time_ms),
            fuel: self.fuel.map_or(base.fuel, NonZeroU64::get),
            copied_bytes: mib(&self.copied_mib, "copied_mib")?.unwrap_or(base.copied_bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &str) {
        let told = Policy::read("p.toml", text).map(|_| "taken".to_owned()).unwrap_or_else(|fault| fault.to_string());
        assert!(told.contains(want), "{told:?} does not hold {want:?}");
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        let digest = "a".repeat(64);
        check("", "taken");
        check(
            &format!("[[plugin]]\ndigest = \"sha256:{digest}\"\nnote = \"ours\"\n[plugin.call]\nmemory_mib = 8"),
            "taken",
        );
        check("[call]\nmemory_mib = \"64M\"", "p.toml:2: the policy cannot be taken: invalid type");
        check("[call]\nmemory_mib = 0", "p.toml:2");
        check("[call]\nmemory_mib = -1", "p.toml:2");
        check("[call]\nmemory_mib = 4096", "`memory_mib` is 4096, at most 1024 is allowed");
        check("[call]\nmemory = 64", "unknown field `memory`");
        check("[[plugin]]\ndigest = \"sha256:abc\"", "p.toml:2: the policy cannot be taken: `sha256:abc` is no digest");
        check("[[plugin]]\n", "missing field `digest`");
        check(&format!("[[plugin]]\ndigest = \"{digest}\"\n[[plugin]]\ndigest = \"{digest}\""), "is named twice");
        check("built_in = \"yes\"", "p.toml:1");
    }

    #[test]
    fn limits_are_those_of_the_plugin_then_of_all_then_ours() {
        let digest = "a".repeat(64);
        let text = format!(
            "built_in = false\n[call]\ntime_ms = 7\n[[plugin]]\ndigest = \"{digest}\"\n[plugin.load]\nfuel = 9"
        );
        let policy = Policy::read("p", &text).unwrap();
        let limits = policy.limits(digest.parse().unwrap()).unwrap();
        assert_eq!((limits.call.time_ms, limits.load.fuel), (7, 9));
        assert_eq!(limits.call.memory_bytes, PluginLimits::default().call.memory_bytes);
        assert_eq!(policy.limits(Digest::default()), None);
    }
}
