//! One call: a fresh instance, its limits, the call, and the fault if it comes to nothing. INVARIANT: a store is never used
//! twice, so no call can see or break another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::{ResourceLimiter, Store, Trap, UpdateDeadline};

use super::bindings::{Interpreter, InterpreterPre, exports::wfhost::engine::engine::Guest};
use super::fault::CallFault;
use super::lane::Ticket;
use super::runtime::Runtime;
use crate::limits::{CallLimits, FAST_TICKS};

/// What a running call carries with it.
pub(super) struct Inside {
    runtime: Arc<Runtime>,
    memory_max: usize,
    memory_refused: bool,
    ticket: Option<Ticket>,
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
        Ok(allowed)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= 100_000)
    }
}

/// What is called, for the faults.
#[derive(Debug, Clone, Copy)]
pub(super) struct Callee<'n> {
    pub(super) plugin: &'n str,
    pub(super) function: &'static str,
}

/// Runs `work` on a fresh instance.
pub(super) fn call<T>(
    runtime: &Arc<Runtime>,
    pre: &InterpreterPre<Inside>,
    callee: Callee<'_>,
    limits: CallLimits,
    work: impl FnOnce(&Guest, &mut Store<Inside>) -> wasmtime::Result<T>,
) -> Result<T, CallFault> {
    let _place = runtime.gate.enter();
    let _running = runtime.running();
    let mut store = store(runtime, limits);
    let outcome = pre
        .instantiate(&mut store)
        .and_then(|instance: Interpreter| work(instance.wfhost_engine_engine(), &mut store));
    outcome.map_err(|error| fault(&error, store.data(), callee, limits))
}

fn store(runtime: &Arc<Runtime>, limits: CallLimits) -> Store<Inside> {
    let inside = Inside {
        runtime: Arc::clone(runtime),
        memory_max: limits.memory_bytes,
        memory_refused: false,
        ticket: None,
        deadline: Instant::now() + Duration::from_millis(limits.time_ms),
    };
    let mut store = Store::new(&runtime.engine, inside);
    store.limiter(|inside| inside);
    // Fuel is switched on in `config`, which is the only way this can fail.
    let _ = store.set_fuel(limits.fuel);
    store.set_hostcall_fuel(limits.copied_bytes);
    store.set_epoch_deadline(FAST_TICKS);
    store.epoch_deadline_callback(|mut context| Ok(tick(context.data_mut())));
    store
}

/// A call that has outlived its fast ticks runs on only in turns of the slow lane, and only until its deadline.
fn tick(inside: &mut Inside) -> UpdateDeadline {
    let runtime = Arc::clone(&inside.runtime);
    if let Some(ticket) = inside.ticket.take() {
        runtime.lane.leave(ticket);
    }
    if Instant::now() >= inside.deadline {
        return UpdateDeadline::Interrupt;
    }
    inside.ticket = runtime.lane.enter(inside.deadline);
    if inside.ticket.is_some() { UpdateDeadline::Continue(1) } else { UpdateDeadline::Interrupt }
}

fn fault(error: &wasmtime::Error, inside: &Inside, callee: Callee<'_>, limits: CallLimits) -> CallFault {
    let plugin = callee.plugin.to_owned();
    let function = callee.function;
    if inside.memory_refused {
        return CallFault::Memory { plugin, function, limit_mib: limits.memory_bytes >> 20 };
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => return CallFault::Instructions { plugin, function, fuel: limits.fuel },
        Some(Trap::Interrupt) => return CallFault::Time { plugin, function, limit_ms: limits.time_ms },
        _ => {}
    }
    let reason = one_line(&format!("{error:#}"));
    // The sandbox has no type for this one.
    if reason.contains("too much data is being copied") {
        return CallFault::Output { plugin, function, limit_mib: limits.copied_bytes >> 20 };
    }
    CallFault::Trap { plugin, function, reason }
}

/// The first words of a backtrace: enough to find the place, not more than a line.
fn one_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match joined.char_indices().nth(600) {
        Some((cut, _)) => format!("{}…", joined.get(..cut).unwrap_or_default()),
        None => joined,
    }
}
