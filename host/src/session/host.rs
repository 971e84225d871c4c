//! The host itself: its store, its plugins, its catalogue, and what sessions are pinned to.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use super::adrift::Channel;
use super::drive::Adrift;
use super::fault::Fault;
use super::flights::Flights;
use super::locks::Locks;
use super::outside::{Nobody, Outside};
use super::timers::Waiting;
use crate::catalogue::{Catalogue, Definition, FileFault, Plugins};
use crate::clock::Clock;
use crate::limits::DEFINITIONS_IN_MEMORY_MAX;
use crate::observe::Observers;
use crate::plugin::Plugin;
use crate::seal::Signer;
use crate::session::model::{Digest, Head, Seal, SessionId};
use crate::store::Store;
use crate::waiting::may_block;

/// The operator's words.
#[derive(Debug, Clone, Default)]
pub struct HostOptions {
    /// Questions that a person can answer are for a person only.
    pub human_only: bool,
    /// The key that seals every journal that this host writes to.
    pub signer: Option<Arc<Signer>>,
}

/// A host: everything that a tool call needs.
#[derive(Debug)]
pub struct Host {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) locks: Locks,
    pub(super) options: HostOptions,
    pub(super) outside: Option<Arc<dyn Outside>>,
    pub(super) flights: Flights,
    pub(super) waiting: Waiting,
    pub(super) observers: OnceLock<Observers>,
    adrift: Channel,
    plugins: RwLock<Arc<Plugins>>,
    places: Vec<PathBuf>,
    catalogue: RwLock<Arc<Catalogue>>,
    by_digest: Mutex<HashMap<Digest, Arc<Plugin>>>,
    definitions: Mutex<HashMap<Digest, Arc<Definition>>>,
    kept: Mutex<HashSet<Digest>>,
    /// Chains that this process sealed itself, so that it need not check its own signature at the next turn.
    pub(super) sealed: Mutex<HashMap<SessionId, (Digest, Seal)>>,
}

/// What a session is pinned to.
#[derive(Debug, Clone)]
pub(super) struct Pinned {
    pub(super) plugin: Arc<Plugin>,
    pub(super) definition: Arc<Definition>,
}

impl Host {
    /// A host over these documents. Bad documents are left out; `catalogue().findings()` tells which and why.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        (plugins, places): (Plugins, Vec<PathBuf>),
        options: HostOptions,
    ) -> Result<Self, FileFault> {
        let catalogue = Catalogue::load(&plugins, &places, None)?;
        Ok(Self {
            store,
            clock,
            locks: Locks::default(),
            options,
            outside: Some(Arc::new(Nobody::THERE)),
            flights: Flights::default(),
            waiting: Waiting::default(),
            observers: OnceLock::new(),
            adrift: Channel::default(),
            plugins: RwLock::new(Arc::new(plugins)),
            places,
            catalogue: RwLock::new(Arc::new(catalogue)),
            by_digest: Mutex::default(),
            definitions: Mutex::default(),
            kept: Mutex::default(),
            sealed: Mutex::default(),
        })
    }

    /// A host of its own, in memory, over documents that are not served: to try them out. It shares the plugins and the clock
    /// and nothing else, and reaches no upstream server.
    pub fn trial(&self, catalogue: Catalogue) -> Result<Self, Fault> {
        Ok(Self {
            store: crate::store::open_ephemeral()?,
            clock: Arc::clone(&self.clock),
            locks: Locks::default(),
            outside: Some(Arc::new(Nobody::TRIED)),
            flights: Flights::default(),
            waiting: Waiting::default(),
            observers: OnceLock::new(),
            adrift: Channel::default(),
            // What is only tried out is nobody's journal, and bears no seal.
            options: HostOptions { signer: None, ..self.options.clone() },
            plugins: RwLock::new(self.plugins()),
            places: Vec::new(),
            catalogue: RwLock::new(Arc::new(catalogue)),
            by_digest: Mutex::default(),
            definitions: Mutex::default(),
            kept: Mutex::default(),
            sealed: Mutex::default(),
        })
    }

    /// With those who reach upstream servers. None: requests for the host are left to another one.
    #[must_use]
    pub fn with_outside(mut self, outside: Option<Arc<dyn Outside>>) -> Self {
        self.outside = outside;
        self
    }

    /// Those who reach upstream servers.
    #[must_use]
    pub fn outside(&self) -> Option<&Arc<dyn Outside>> {
        self.outside.as_ref()
    }

    /// The next session that goes on without a caller, when there is one: see [`Host::go_on`].
    pub async fn next_adrift(&self) -> Adrift {
        self.adrift.next().await
    }

    /// Leaves a session to whoever looks after those without a caller.
    pub(super) fn set_adrift(&self, adrift: Adrift) {
        self.adrift.send(adrift);
    }

    /// Who is told what happens from now on; those who came first stay.
    pub fn observe(&self, observers: Observers) {
        let _ = self.observers.set(observers);
    }

    /// Who is told what happens.
    #[must_use]
    pub fn observers(&self) -> Option<&Observers> {
        self.observers.get()
    }

    /// What is offered now.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the documents again. A place that cannot be read leaves everything as it is.
    pub fn reload(&self) -> Result<Arc<Catalogue>, FileFault> {
        let before = self.catalogue();
        let after = Arc::new(Catalogue::load(&self.plugins(), &self.places, Some(&before))?);
        *self.catalogue.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&after);
        Ok(after)
    }

    /// Where the documents come from.
    #[must_use]
    pub fn places(&self) -> &[PathBuf] {
        &self.places
    }

    /// The plugins it has.
    #[must_use]
    pub fn plugins(&self) -> Arc<Plugins> {
        Arc::clone(&self.plugins.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes these plugins instead. What they bring is offered from the next `reload` on.
    pub fn take(&self, plugins: Plugins) {
        *self.plugins.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(plugins);
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Fresh entropy, for keys.
    #[must_use]
    pub fn entropy(&self) -> u128 {
        self.clock.entropy()
    }

    /// What this session runs on: what it began with, wherever that is now.
    pub(super) fn pinned(&self, head: &Head) -> Result<Pinned, Fault> {
        Ok(Pinned { plugin: self.plugin(head)?, definition: self.definition(head)? })
    }

    fn plugin(&self, head: &Head) -> Result<Arc<Plugin>, Fault> {
        if let Some(plugin) = self.by_digest.lock().unwrap_or_else(PoisonError::into_inner).get(&head.plugin) {
            return Ok(Arc::clone(plugin));
        }
        let plugins = self.plugins();
        let loaded = plugins.chosen.iter().filter_map(|c| c.loaded()).find(|p| p.digest == head.plugin);
        let plugin = match loaded {
            Some(plugin) => plugin,
            None => {
                let bytes = self.blob(head, "plugin", head.plugin)?;
                // It may have to be compiled.
                Arc::new(may_block(|| Plugin::from_bytes(plugins.runtime(), &head.interpreter, bytes))?)
            }
        };
        self.by_digest.lock().unwrap_or_else(PoisonError::into_inner).insert(head.plugin, Arc::clone(&plugin));
        Ok(plugin)
    }

    pub(super) fn definition(&self, head: &Head) -> Result<Arc<Definition>, Fault> {
        if let Some(definition) = self.definitions.lock().unwrap_or_else(PoisonError::into_inner).get(&head.definition)
        {
            return Ok(Arc::clone(definition));
        }
        let bytes = self.blob(head, "definition", head.definition)?;
        let definition = Arc::new(Definition::decode(head.definition, bytes)?);
        self.remember(&definition);
        Ok(definition)
    }

    fn remember(&self, definition: &Arc<Definition>) {
        let mut definitions = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        if definitions.len() >= DEFINITIONS_IN_MEMORY_MAX {
            definitions.clear();
        }
        definitions.insert(definition.digest, Arc::clone(definition));
    }

    fn blob(&self, head: &Head, what: &'static str, digest: Digest) -> Result<Arc<[u8]>, Fault> {
        self.store.blob(digest)?.ok_or(Fault::Lost { session: head.session, what, digest })
    }

    /// Keeps again what a session is pinned to: the store dropped it with the last session that needed it.
    pub(super) fn keep_again(&self, head: &Head) -> Result<(), Fault> {
        let pinned = self.pinned(head)?;
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.retain(|digest| *digest != head.plugin && *digest != head.definition);
        }
        self.keep(&pinned.plugin, &pinned.definition)
    }

    /// Sees to it that the store holds what a new session is pinned to. Must come before the session's first commit.
    pub(super) fn keep(&self, plugin: &Arc<Plugin>, definition: &Arc<Definition>) -> Result<(), Fault> {
        for (digest, bytes) in [(plugin.digest, &plugin.bytes), (definition.digest, &definition.bytes)] {
            if !self.kept.lock().unwrap_or_else(PoisonError::into_inner).contains(&digest) {
                self.store.keep(bytes)?;
                self.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(digest);
            }
        }
        self.by_digest.lock().unwrap_or_else(PoisonError::into_inner).insert(plugin.digest, Arc::clone(plugin));
        self.remember(definition);
        Ok(())
    }
}
