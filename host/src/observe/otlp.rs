//! Traces and metrics for OpenTelemetry, by OTLP over HTTP. The one user of the `opentelemetry` crates. A session is a
//! trace: its random bits are the trace's id, so that its calls are found together whichever process answered them.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use opentelemetry::metrics::{Counter, Histogram, MeterProvider as _};
use opentelemetry::trace::{
    Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState,
    Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;

use super::Observer;
use super::facts::{Called, Committed, Ended};
use crate::limits::{EXPORT_LEAVE_TIME, EXPORT_TIME_MAX};
use crate::session::model::SessionId;
use crate::web;

/// The collector cannot be sent to.
#[derive(Debug, thiserror::Error)]
#[error("OpenTelemetry cannot be sent: {0}")]
pub struct ExporterFault(String);

/// Sends traces and metrics to a collector, in the background.
#[derive(Debug)]
pub struct Exporter {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
    tracer: SdkTracer,
    calls: Counter<u64>,
    call_time: Histogram<f64>,
    lines: Counter<u64>,
    started: Counter<u64>,
    ended: Counter<u64>,
    commit_time: Histogram<f64>,
}

impl Exporter {
    /// Sends to this collector: `http://127.0.0.1:4318`, to which the paths of the protocol are added. The runtime carries
    /// the requests.
    ///
    /// # Errors
    /// If that is no address.
    pub fn begin(collector: &str, name: &str, runtime: Handle) -> Result<Self, ExporterFault> {
        let base = collector.trim_end_matches('/');
        let fault = |error: &dyn std::fmt::Display| ExporterFault(error.to_string());
        let spans = SpanExporter::builder()
            .with_http()
            .with_http_client(Door(runtime.clone()))
            .with_endpoint(format!("{base}/v1/traces"))
            .with_timeout(EXPORT_TIME_MAX)
            .build()
            .map_err(|error| fault(&error))?;
        let figures = MetricExporter::builder()
            .with_http()
            .with_http_client(Door(runtime))
            .with_endpoint(format!("{base}/v1/metrics"))
            .with_timeout(EXPORT_TIME_MAX)
            .build()
            .map_err(|error| fault(&error))?;
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder().with_service_name(name.to_owned()).with_attribute(version).build();
        let traces = SdkTracerProvider::builder().with_batch_exporter(spans).with_resource(resource.clone()).build();
        let metrics = SdkMeterProvider::builder().with_periodic_exporter(figures).with_resource(resource).build();
        let meter = metrics.meter("wfhost");
        let time = |name: &'static str| meter.f64_histogram(name).with_unit("s").build();
        let count = |name: &'static str| meter.u64_counter(name).build();
        Ok(Self {
            tracer: traces.tracer("wfhost"),
            calls: count("wfhost.calls"),
            call_time: time("wfhost.call.duration"),
            lines: count("wfhost.journal.lines"),
            started: count("wfhost.sessions.started"),
            ended: count("wfhost.sessions.ended"),
            commit_time: time("wfhost.commit.duration"),
            traces,
            metrics,
        })
    }

    /// Sends what waits, for a short while, and no more after that.
    pub fn close(&self) {
        // A collector that is gone is no reason not to end.
        let _ = self.traces.shutdown_with_timeout(EXPORT_LEAVE_TIME);
        let _ = self.metrics.shutdown_with_timeout(EXPORT_LEAVE_TIME);
    }

    fn span(
        &self,
        name: String,
        kind: SpanKind,
        session: Option<SessionId>,
        (began, took): (SystemTime, Duration),
    ) -> SdkSpan {
        let builder = self.tracer.span_builder(name).with_kind(kind).with_start_time(began);
        let parent = session.map_or_else(Context::new, trace_of);
        SdkSpan { span: self.tracer.build_with_context(builder, &parent), end: began + took }
    }
}

/// A span, and when it ended.
struct SdkSpan {
    span: opentelemetry_sdk::trace::Span,
    end: SystemTime,
}

impl SdkSpan {
    fn close(mut self, attributes: Vec<KeyValue>) {
        self.span.set_attributes(attributes);
        self.span.end_with_timestamp(self.end);
    }
}

/// The trace that a session is.
fn trace_of(session: SessionId) -> Context {
    let bytes = session.to_bytes();
    let root = bytes.first_chunk::<8>().copied().unwrap_or_default();
    let (trace, span) = (TraceId::from_bytes(bytes), SpanId::from_bytes(root));
    let context = SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::NONE);
    Context::new().with_remote_span_context(context)
}

fn text(name: &'static str, value: &str) -> KeyValue {
    KeyValue::new(name, value.to_owned())
}

impl Observer for Exporter {
    fn committed(&self, fact: &Committed<'_>) {
        let of = [text("wfhost.interpreter", fact.interpreter), text("wfhost.workflow", fact.workflow)];
        let with = |name, value: &str| [of.as_slice(), &[text(name, value)]].concat();
        let added = fact.added;
        for (kind, count) in
            [("turn", added.turns), ("refusal", added.refusals), ("fault", added.faults), ("note", added.notes)]
        {
            if count > 0 {
                self.lines.add(u64::from(count), &with("wfhost.line", kind));
            }
        }
        if fact.began {
            self.started.add(1, &of);
        }
        if let Some(ended) = fact.ended {
            self.ended.add(1, &with("wfhost.outcome", ended.word()));
        }
        self.commit_time.record(fact.took.as_secs_f64(), &of);
        let began = SystemTime::now().checked_sub(fact.took).unwrap_or_else(SystemTime::now);
        let span = self.span("commit".to_owned(), SpanKind::Internal, Some(fact.session), (began, fact.took));
        let mut attributes = of.to_vec();
        attributes.push(text("wfhost.session", &fact.session.to_string()));
        attributes.push(KeyValue::new("wfhost.lines", i64::try_from(fact.lines).unwrap_or(i64::MAX)));
        attributes.extend(fact.ended.map(Ended::word).map(|word| text("wfhost.outcome", word)));
        span.close(attributes);
    }

    fn called(&self, fact: &Called<'_>) {
        let tool = fact.tool.unwrap_or("unknown");
        let attributes = [text("gen_ai.tool.name", tool), text("wfhost.outcome", fact.outcome)];
        self.calls.add(1, &attributes);
        self.call_time.record(fact.took.as_secs_f64(), &attributes);
        let name = format!("tools/call {tool}");
        let mut span = self.span(name, SpanKind::Server, fact.session, (fact.began, fact.took));
        if matches!(fact.outcome, "fault" | "unknown") {
            span.span.set_status(Status::error(fact.outcome));
        }
        let mut attributes = attributes.to_vec();
        attributes.push(text("mcp.method.name", "tools/call"));
        attributes.push(text("wfhost.channel", fact.channel));
        attributes.extend(fact.session.map(|session| text("wfhost.session", &session.to_string())));
        span.close(attributes);
    }
}

/// The program's own HTTP client, for a thread that has no runtime.
#[derive(Debug)]
struct Door(Handle);

type Answer<'f> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>;

impl HttpClient for Door {
    fn send_bytes<'a, 'f>(&'a self, request: Request<Bytes>) -> Answer<'f>
    where
        'a: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let sent = self.0.spawn(web::exchange(request.map(|body| body.to_vec()), EXPORT_TIME_MAX));
            Ok(sent.await??.map(Bytes::from))
        })
    }
}
