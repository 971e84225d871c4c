//! One call: a fresh instance, its limits, the call, and the fault if it comes to nothing. INVARIANT: a store is never used
//! twice, so no call can see or break another.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{ComponentExportIndex, ComponentNamedList, InstancePre, Lift, Lower};
use wasmtime::{ResourceLimiter, Store, Trap, UpdateDeadline};

use super::backtrace;
use super::fault::CallFault;
use super::lane::Ticket;
use super::runtime::Runtime;
use crate::clock::worked;
use crate::limits::{CallLimits, FAST_TICKS, HANDOVER, TICK};
use crate::waiting::may_block;

/// What a call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Instructions, in fuel.
    pub fuel: u64,
    /// The largest linear memory, bytes.
    pub memory_bytes: usize,
    /// Wall time with making the instance, microseconds.
    pub micros: u64,
}

thread_local! {
    static SPENT: Cell<Spent> = const { Cell::new(Spent { fuel: 0, memory_bytes: 0, micros: 0 }) };
}

/// What the last call into any plugin used, of those that this thread made.
#[must_use]
pub fn spent() -> Spent {
    SPENT.get()
}

/// What a running call carries with it.
pub(super) struct Inside {
    runtime: Arc<Runtime>,
    memory_max: usize,
    memory_refused: bool,
    memory_bytes: usize,
    ticket: Option<Ticket>,
    slow: bool,
    /// What the thread had worked before.
    worked: Duration,
    deadline: Instant,
}

impl Drop for Inside {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.runtime.lane.leave(ticket);
        }
    }
}

impl ResourceLimiter for Inside {
    fn memory_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = desired <= self.memory_max;
        self.memory_refused |= !allowed;
        if allowed {
            self.memory_bytes = self.memory_bytes.max(desired);
        }
        Ok(allowed)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= 100_000)
    }
}

/// How long a call may work beside all others.
const FAST: Duration = TICK.saturating_mul(FAST_TICKS);

/// What is called, for the faults.
#[derive(Debug, Clone, Copy)]
pub(super) struct Callee<'n> {
    pub(super) plugin: &'n str,
    pub(super) function: &'static str,
}

/// A function of a plugin: where it is in the component, and what it is called in faults.
#[derive(Clone, Copy)]
pub(super) struct Function<'p> {
    pub(super) pre: &'p InstancePre<Inside>,
    pub(super) index: &'p ComponentExportIndex,
    pub(super) callee: Callee<'p>,
}

/// Calls a function on a fresh instance. Only this one function is looked up and type-checked, not all of the contract's.
pub(super) fn call<P, R>(
    runtime: &Arc<Runtime>,
    function: Function<'_>,
    limits: CallLimits,
    params: P,
) -> Result<R, CallFault>
where
    P: ComponentNamedList + Lower,
    (R,): ComponentNamedList + Lift,
{
    let _place = runtime.gate.enter();
    let _running = runtime.running();
    let began = Instant::now();
    let mut store = store(runtime, limits);
    let outcome = function.pre.instantiate(&mut store).and_then(|instance| {
        let typed = instance.get_typed_func::<P, (R,)>(&mut store, function.index)?;
        typed.call(&mut store, params)
    });
    SPENT.set(Spent {
        fuel: limits.fuel.saturating_sub(store.get_fuel().unwrap_or(0)),
        memory_bytes: store.data().memory_bytes,
        micros: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
    });
    outcome.map(|(result,)| result).map_err(|error| fault(&error, store.data(), function.callee, limits))
}

/// Makes an instance that nothing is called in, for a look at its types.
pub(super) fn check(
    runtime: &Arc<Runtime>,
    instantiate: impl FnOnce(&mut Store<Inside>) -> wasmtime::Result<()>,
) -> wasmtime::Result<()> {
    let _place = runtime.gate.enter();
    let _running = runtime.running();
    instantiate(&mut store(runtime, runtime.limits.load))
}

fn store(runtime: &Arc<Runtime>, limits: CallLimits) -> Store<Inside> {
    let inside = Inside {
        runtime: Arc::clone(runtime),
        memory_max: limits.memory_bytes,
        memory_refused: false,
        memory_bytes: 0,
        ticket: None,
        slow: false,
        worked: worked(),
        deadline: Instant::now() + Duration::from_millis(limits.time_ms),
    };
    let mut store = Store::new(&runtime.engine, inside);
    store.limiter(|inside| inside);
    // Fuel is switched on in `config`, which is the only way this can fail.
    let _ = store.set_fuel(limits.fuel);
    store.set_hostcall_fuel(limits.copied_bytes);
    store.set_epoch_deadline(u64::from(FAST_TICKS));
    store.epoch_deadline_callback(|mut context| Ok(tick(context.data_mut())));
    store
}

/// A call that has worked for longer than its fast ticks runs on only in turns of the slow lane, and only until its deadline.
/// One that was kept waiting for a processor meanwhile has not.
fn tick(inside: &mut Inside) -> UpdateDeadline {
    let runtime = Arc::clone(&inside.runtime);
    if let Some(ticket) = inside.ticket.take() {
        runtime.lane.leave(ticket);
    }
    if Instant::now() >= inside.deadline {
        return UpdateDeadline::Interrupt;
    }
    if !inside.slow && worked().saturating_sub(inside.worked) < FAST {
        return UpdateDeadline::Continue(1);
    }
    let first = !std::mem::replace(&mut inside.slow, true);
    inside.ticket = may_block(|| {
        if first {
            // Long enough for another thread to take over what this one did besides the call.
            std::thread::sleep(HANDOVER);
        }
        runtime.lane.enter(inside.deadline)
    });
    if inside.ticket.is_some() { UpdateDeadline::Continue(1) } else { UpdateDeadline::Interrupt }
}

fn fault(error: &wasmtime::Error, inside: &Inside, callee: Callee<'_>, limits: CallLimits) -> CallFault {
    let plugin = callee.plugin.to_owned();
    let function = callee.function;
    if inside.memory_refused {
        return CallFault::Memory { plugin, function, limit_mib: limits.memory_bytes >> 20 };
    }
    let trap = error.downcast_ref::<Trap>();
    if trap == Some(&Trap::OutOfFuel) {
        return CallFault::Instructions { plugin, function, fuel: limits.fuel };
    }
    if trap == Some(&Trap::Interrupt) {
        return CallFault::Time { plugin, function, limit_ms: limits.time_ms };
    }
    // The sandbox has no type for this one.
    if format!("{error:#}").contains("too much data is being copied") {
        return CallFault::Output { plugin, function, limit_mib: limits.copied_bytes >> 20 };
    }
    CallFault::Trap { plugin, function, reason: backtrace::told(error) }
}
