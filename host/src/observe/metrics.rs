//! Counters and times for Prometheus, in the text of OpenMetrics. The one user of `prometheus-client`.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::facts::{Called, Committed};
use super::{Hooks, Observer};
use crate::store::Store;

/// The media type of what [`Metrics::text`] gives.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = Vec<(&'static str, String)>;
type Counted = Family<Labels, Counter>;

/// Seconds: from a tenth of a millisecond, which a read takes, to the ten seconds after which people ask.
const BUCKETS: [f64; 12] = [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0, 10.0];

/// What is counted since the process began.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    calls: Counted,
    call_time: Histogram,
    lines: Counted,
    started: Counted,
    ended: Counted,
    commit_time: Histogram,
    hooks: Counted,
    store_bytes: Gauge<u64, AtomicU64>,
    store_sessions: Gauge<u64, AtomicU64>,
    store_unfinished: Gauge<u64, AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("wfhost");
        let time = || Histogram::new(BUCKETS);
        let metrics = Self {
            calls: Counted::default(),
            call_time: time(),
            lines: Counted::default(),
            started: Counted::default(),
            ended: Counted::default(),
            commit_time: time(),
            hooks: Counted::default(),
            store_bytes: Gauge::default(),
            store_sessions: Gauge::default(),
            store_unfinished: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register("calls", "Tool calls, by tool and what became of them", metrics.calls.clone());
        let words = "From a tool call to its answer";
        registry.register_with_unit("call_duration", words, Unit::Seconds, metrics.call_time.clone());
        registry.register("journal_lines", "Lines that were committed, by what they are", metrics.lines.clone());
        registry.register("sessions_started", "Sessions that began", metrics.started.clone());
        registry.register("sessions_ended", "Sessions that ended, and how", metrics.ended.clone());
        let words = "From the end of a turn until it is durable";
        registry.register_with_unit("commit_duration", words, Unit::Seconds, metrics.commit_time.clone());
        registry.register(
            "hook_events",
            "Events for hooks: sent, failed, or dropped at a full queue",
            metrics.hooks.clone(),
        );
        let words = "What the store takes on the disk";
        registry.register_with_unit("store_size", words, Unit::Bytes, metrics.store_bytes.clone());
        registry.register("store_sessions", "Sessions in the store", metrics.store_sessions.clone());
        registry.register("store_sessions_unfinished", "Sessions without an end", metrics.store_unfinished.clone());
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// All of it as text.
    #[must_use]
    pub fn text(&self, store: &dyn Store, hooks: Option<&Arc<Hooks>>) -> String {
        // A store that cannot say has other ways to be heard.
        if let Ok(report) = store.report() {
            self.store_bytes.set(report.bytes);
            self.store_sessions.set(report.sessions);
            self.store_unfinished.set(report.unfinished);
        }
        for (result, count) in hooks.iter().flat_map(|hooks| hooks.counts()) {
            let counter = self.hooks.get_or_create(&vec![("result", result.to_owned())]);
            counter.inc_by(count.saturating_sub(counter.get()));
        }
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

fn of(fact: &Committed<'_>) -> Labels {
    vec![("interpreter", fact.interpreter.to_owned()), ("workflow", fact.workflow.to_owned())]
}

fn with(mut labels: Labels, name: &'static str, value: &str) -> Labels {
    labels.push((name, value.to_owned()));
    labels
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

impl Observer for Metrics {
    fn committed(&self, fact: &Committed<'_>) {
        let added = fact.added;
        let kinds =
            [("turn", added.turns), ("refusal", added.refusals), ("fault", added.faults), ("note", added.notes)];
        for (kind, count) in kinds.into_iter().filter(|(_, count)| *count > 0) {
            self.lines.get_or_create(&with(of(fact), "kind", kind)).inc_by(u64::from(count));
        }
        if fact.began {
            self.started.get_or_create(&of(fact)).inc();
        }
        if let Some(ended) = fact.ended {
            self.ended.get_or_create(&with(of(fact), "outcome", ended.word())).inc();
        }
        self.commit_time.observe(seconds(fact.took));
    }

    fn called(&self, fact: &Called<'_>) {
        let tool = fact.tool.unwrap_or("unknown").to_owned();
        self.calls.get_or_create(&vec![("tool", tool), ("outcome", fact.outcome.to_owned())]).inc();
        self.call_time.observe(seconds(fact.took));
    }
}
