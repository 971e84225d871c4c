//! The engine that all plugins share: its configuration with fall-backs, and the clock that stops them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

use super::fault::LoadFault;
use super::lane::{Gate, Lane};
use super::policy::Policy;
use crate::limits::{CALLS_AT_ONCE_MAX, PLUGIN_STACK_BYTES, PluginLimits, TICK};
use crate::session::model::Digest;

/// How plugins are run.
#[derive(Debug, Clone, Default)]
pub struct RuntimeOptions {
    /// Where native code is kept between starts; none: nowhere.
    pub cache: Option<PathBuf>,
    /// What each plugin may use, where no policy says otherwise.
    pub limits: PluginLimits,
    /// The operator's word about plugins; none: any may run.
    pub policy: Option<Policy>,
}

/// The engine and all that is shared by the calls into plugins.
pub struct Runtime {
    pub(super) engine: Engine,
    pub(super) cache: Option<PathBuf>,
    pub(super) limits: PluginLimits,
    policy: Option<Policy>,
    pub(super) gate: Gate,
    pub(super) lane: Lane,
    clock: Arc<Clock>,
    /// What the operator should know: that a fall-back was taken.
    pub warning: Option<String>,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("cache", &self.cache).field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// How memory is reserved, best first: with 4 GiB of address space a slot, bounds checks vanish; a container with little
/// address space takes less, or maps at each call.
#[derive(Debug, Clone, Copy)]
enum Reservation {
    Wide,
    Narrow,
    OnDemand,
}

impl Runtime {
    /// An engine, with the best memory reservation that this machine allows.
    pub fn new(options: RuntimeOptions) -> Result<Self, LoadFault> {
        let mut warning = None;
        for reservation in [Reservation::Wide, Reservation::Narrow, Reservation::OnDemand] {
            match Engine::new(&config(reservation, memory_max(&options))) {
                Ok(engine) => return Ok(Self::with(engine, options, warning)),
                Err(error) => {
                    warning = Some(format!("less address space than wished for ({error:#}): plugins run slower"));
                }
            }
        }
        Err(LoadFault::NotAComponent { plugin: "(engine)".into(), reason: warning.unwrap_or_default() })
    }

    fn with(engine: Engine, options: RuntimeOptions, warning: Option<String>) -> Self {
        Self {
            clock: Clock::start(engine.clone()),
            engine,
            cache: options.cache,
            limits: options.limits,
            policy: options.policy,
            gate: Gate::new(CALLS_AT_ONCE_MAX),
            lane: Lane::new(crate::waiting::cores().saturating_sub(1).max(1)),
            warning,
        }
    }

    /// What each plugin may use, where no policy says otherwise.
    #[must_use]
    pub const fn limits(&self) -> PluginLimits {
        self.limits
    }

    /// What the plugin of this digest may use, if it may run.
    pub fn allowed(&self, plugin: &str, digest: Digest) -> Result<PluginLimits, LoadFault> {
        let Some(policy) = &self.policy else { return Ok(self.limits) };
        policy.limits(digest).ok_or_else(|| LoadFault::Denied {
            plugin: plugin.into(),
            digest: digest.to_string(),
            policy: policy.origin().into(),
        })
    }

    /// The clock ticks as long as the guard lives, and a little longer.
    pub(super) fn running(&self) -> Running<'_> {
        self.clock.enter();
        Running(&self.clock)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.clock.stop();
    }
}

/// The most memory that any call may have, bytes: every slot is so large.
fn memory_max(options: &RuntimeOptions) -> usize {
    let ours = options.limits.call.memory_bytes.max(options.limits.load.memory_bytes);
    options.policy.as_ref().map_or(ours, |policy| policy.memory_max().max(ours))
}

fn config(reservation: Reservation, memory_max: usize) -> Config {
    let mut config = Config::new();
    config
        .cranelift_opt_level(OptLevel::Speed)
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .concurrency_support(false)
        .max_wasm_stack(PLUGIN_STACK_BYTES)
        .epoch_interruption(true)
        .consume_fuel(true);
    match reservation {
        Reservation::Wide => {
            config.allocation_strategy(pool(memory_max));
        }
        Reservation::Narrow => {
            config
                .memory_reservation(memory_max as u64)
                .memory_guard_size(64 << 10)
                .allocation_strategy(pool(memory_max));
        }
        Reservation::OnDemand => {
            config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
        }
    }
    config
}

/// More places than there are calls: a call that is over may have left its place in the hands of another thread, which is
/// just clearing it.
const PLACES: u32 = CALLS_AT_ONCE_MAX * 2;

fn pool(memory_max: usize) -> InstanceAllocationStrategy {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(PLACES)
        .total_core_instances(PLACES * 4)
        .total_memories(PLACES)
        .total_tables(PLACES * 2)
        .max_unused_warm_slots(8)
        .max_memory_size(memory_max)
        .linear_memory_keep_resident(2 << 20)
        .table_keep_resident(8 << 10)
        .pagemap_scan(Enabled::Auto);
    InstanceAllocationStrategy::Pooling(pool)
}

/// Ticks while calls run, sleeps while none does.
#[derive(Debug)]
struct Clock {
    running: AtomicU64,
    asleep: AtomicBool,
    stopped: AtomicBool,
    thread: std::sync::OnceLock<Thread>,
}

impl Clock {
    /// Ticks without a call after which the clock goes to sleep.
    const IDLE_TICKS: u32 = 200;

    fn start(engine: Engine) -> Arc<Self> {
        let clock = Arc::new(Self {
            running: AtomicU64::new(0),
            asleep: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            thread: std::sync::OnceLock::new(),
        });
        let ticking = Arc::clone(&clock);
        let spawned = std::thread::Builder::new().name("plugin-clock".into()).spawn(move || ticking.tick(&engine));
        if let Ok(handle) = spawned {
            let _ = clock.thread.set(handle.thread().clone());
        }
        clock
    }

    fn tick(&self, engine: &Engine) {
        let mut idle = 0;
        while !self.stopped.load(Ordering::Acquire) {
            if self.running.load(Ordering::SeqCst) > 0 {
                idle = 0;
            } else {
                idle += 1;
            }
            if idle > Self::IDLE_TICKS {
                self.asleep.store(true, Ordering::SeqCst);
                if self.running.load(Ordering::SeqCst) == 0 && !self.stopped.load(Ordering::SeqCst) {
                    std::thread::park();
                }
                self.asleep.store(false, Ordering::SeqCst);
                idle = 0;
            }
            std::thread::sleep(TICK);
            engine.increment_epoch();
        }
    }

    fn enter(&self) {
        self.running.fetch_add(1, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// A call is running.
#[derive(Debug)]
pub(super) struct Running<'c>(&'c Clock);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}
