//! `wfhost serve`: the main job.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use anyhow::{Context, Result};
use clap::Args;
use tokio_util::sync::CancellationToken;

use super::signing::Signing;
use super::upstreams::{Reached, Upstreams};
use super::watched::{Watched, Watching};
use super::{Data, Documents, place, print};
use crate::catalogue::{Catalogue, Watch};
use crate::limits::{HTTP_WORKERS_MIN, LEAVE_TIME, SWEEP_EVERY, SWEEP_SESSIONS_MAX};
use crate::mcp::{HttpOptions, Server, ServerOptions, serve_http, serve_stdio};
use crate::session::{Host, HostOptions};
use crate::store::{self, Store};
use crate::upstream::Hub;

/// What `serve` is told.
#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    documents: Documents,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    upstreams: Upstreams,
    #[command(flatten)]
    signing: Signing,
    /// Serve over HTTP at this address (path /mcp) instead of standard input and output.
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<SocketAddr>,
    /// A host name by which the HTTP server may be called, besides the loopback names. Repeatable.
    #[arg(long = "allow-host", value_name = "HOST[:PORT]")]
    hosts: Vec<String>,
    /// An origin whose pages may call the HTTP server, besides loopback ones. Repeatable.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    #[command(flatten)]
    watched: Watched,
    /// Keep sessions in memory only: they end with this process.
    #[arg(long)]
    ephemeral: bool,
    /// Refuse to start if any document is bad, instead of serving the good ones.
    #[arg(long)]
    strict: bool,
    /// Never ask people through the client; the agent passes questions on.
    #[arg(long)]
    no_elicit: bool,
    /// Take the answer to a question that a person can answer from a person only, never from the agent.
    #[arg(long)]
    human_only: bool,
    /// Let clients try documents and save them into the served folder. Whoever can call this server can then change its procedures.
    #[arg(long)]
    authoring: bool,
    /// The name under which clients see this server.
    #[arg(long, value_name = "NAME", default_value = "wfhost")]
    name: String,
}

impl Serve {
    pub(super) fn run(mut self) -> Result<ExitCode> {
        self.documents = self.documents.with_servers(self.upstreams.names()?);
        // Before the first reading, so that no change falls between the two.
        let places = Watch::new(self.documents.places());
        let by_others = self.http.is_some() || self.authoring;
        let hub = self.upstreams.hub(if by_others { Reached::ByOthers } else { Reached::Locally })?;
        let (host, slow) = self.host(Arc::clone(&hub))?;
        let host = Arc::new(host);
        let catalogue = host.catalogue();
        tell(&catalogue);
        if slow.is_empty() {
            place::insist(&self.documents, &catalogue, self.strict)?;
        } else {
            make_ready(&host, self.documents.clone(), &slow, places.waker())?;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            // One client speaks on standard input: its messages need not change threads. What waits gets further ones.
            .worker_threads(if self.http.is_some() { crate::waiting::cores().max(HTTP_WORKERS_MIN) } else { 1 })
            .enable_all()
            .build()
            .context("the threads that serve cannot be started")?;
        let store = Arc::clone(host.store());
        let watching = self.watched.begin(&host, (&self.name, self.http.is_some()), runtime.handle())?;
        let code = runtime.block_on(self.serve(host, places, &watching));
        runtime.block_on(hub.close());
        watching.close();
        // Calls that still run are given up with the process: each is one transaction, or none.
        runtime.shutdown_background();
        store.close();
        code.map(|()| ExitCode::SUCCESS)
    }

    fn host(&self, hub: Arc<Hub>) -> Result<(Host, Vec<String>)> {
        let store: Arc<dyn Store> = if self.ephemeral { store::open_ephemeral()? } else { self.data.store()? };
        let options = HostOptions { human_only: self.human_only, signer: self.signing.signer()? };
        let (host, slow) = if self.strict {
            // All or none: nothing is served before all is known.
            (self.documents.host(store, self.data.cache(), options)?, Vec::new())
        } else {
            self.documents.host_now(store, self.data.cache(), options)?
        };
        Ok((host.with_outside(Some(hub)), slow))
    }

    async fn serve(self, host: Arc<Host>, places: Watch, watching: &Watching) -> Result<()> {
        let channel = if self.http.is_some() { "http" } else { "stdio" };
        let options = ServerOptions { name: self.name, channel, elicit: !self.no_elicit, authoring: self.authoring };
        let server = Server::new(Arc::clone(&host), options);
        tell_hidden(&server);
        let ending = CancellationToken::new();
        end_on_signals(&ending);
        watch(&server, places)?;
        tend(Arc::clone(&host));
        let metrics = watching.metrics(&host);
        sweep(host);
        match self.http {
            None => tokio::select! {
                () = ending.cancelled() => Ok(()),
                served = serve_stdio(server) => Ok(served?),
            },
            Some(address) => {
                let options = HttpOptions { hosts: self.hosts, origins: self.origins, metrics };
                let ready = |at: SocketAddr| print::note(format!("listening on http://{at}/mcp"));
                // A connection that does not end, or a person over a form, does not keep the process.
                let late = async {
                    ending.cancelled().await;
                    tokio::time::sleep(LEAVE_TIME).await;
                };
                tokio::select! {
                    served = serve_http(server, address, options, ending.clone(), ready) => Ok(served?),
                    () = late => Ok(()),
                }
            }
        }
    }
}

/// Loads the plugins that take seconds, while the others are served; then all documents are read again.
fn make_ready(host: &Arc<Host>, documents: Documents, slow: &[String], wake: Sender<()>) -> Result<()> {
    let names = slow.iter().map(|name| format!("`{}`", print::plain(name))).collect::<Vec<_>>().join(" and ");
    print::note(format!(
        "{names}: native code is made once, which takes seconds; then its documents are served as well"
    ));
    let host = Arc::clone(host);
    std::thread::Builder::new().name("plugins".into()).spawn(move || {
        match documents.all_plugins(host.plugins().runtime()) {
            Ok(plugins) => {
                host.take(plugins);
                let _ = wake.send(());
            }
            Err(fault) => print::note(print::plain(&format!("{names} cannot be served: {fault:#}"))),
        }
    })?;
    Ok(())
}

/// What is served, and what is not and why.
fn tell(catalogue: &Catalogue) {
    for line in place::findings(catalogue) {
        print::note(line);
    }
    for offered in &catalogue.offered {
        let about = &offered.plugin.about;
        print::note(format!(
            "{} {} ({}) serves {} workflow{}",
            about.name,
            print::plain(&about.version),
            offered.plugin.digest.to_string().get(..12).unwrap_or_default(),
            offered.ids.len(),
            if offered.ids.len() == 1 { "" } else { "s" }
        ));
    }
}

fn tell_hidden(server: &Server) {
    for name in server.hidden() {
        let why =
            "with `--authoring` that is the name of a tool of this server's own; give the document's tool another one";
        print::note(print::plain(&format!("error: the tool `{name}` of a document is not served: {why}")));
    }
}

/// Reads the documents again whenever they change, and tells the clients.
fn watch(server: &Server, mut watch: Watch) -> Result<()> {
    #[cfg(unix)]
    {
        let waker = watch.waker();
        let mut hangup = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())?;
        tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                let _ = waker.send(());
            }
        });
    }
    let server = server.clone();
    let handle = tokio::runtime::Handle::current();
    std::thread::Builder::new().name("documents".into()).spawn(move || {
        loop {
            watch.wait();
            let before = server.host().catalogue();
            match server.host().reload() {
                Ok(after) if same(&before, &after) => {}
                Ok(after) => {
                    print::note("the documents have changed");
                    tell(&after);
                    tell_hidden(&server);
                    handle.block_on(server.tell_changed());
                }
                Err(fault) => {
                    print::note(print::plain(&format!("the documents were not read again: {fault}")));
                }
            }
        }
    })?;
    Ok(())
}

/// Whether two catalogues say the same.
fn same(before: &Catalogue, after: &Catalogue) -> bool {
    let state = |c: &Catalogue| {
        let definitions: Vec<_> = c
            .files
            .iter()
            .map(|f| (f.shown.clone(), f.definitions.iter().map(|d| d.digest).collect::<Vec<_>>()))
            .collect();
        (definitions, place::findings(c))
    };
    state(before) == state(after)
}

/// Sessions that go on without a caller.
pub(super) fn tend(host: Arc<Host>) {
    tokio::spawn(async move {
        loop {
            let adrift = host.next_adrift().await;
            let host = Arc::clone(&host);
            tokio::spawn(async move {
                if let Err(fault) = host.go_on(adrift).await {
                    print::note(print::plain(&format!("a session without a caller came to a stop: {fault}")));
                }
            });
        }
    });
}

/// What hosts before this one have left, then timers and deadlines, from time to time.
fn sweep(host: Arc<Host>) {
    tokio::spawn(async move {
        let mut first = true;
        loop {
            let host = Arc::clone(&host);
            let swept = tokio::task::spawn_blocking(move || if first { host.take_up() } else { host.sweep() }).await;
            first = false;
            let more = matches!(&swept, Ok(Ok((moved, _))) if *moved >= SWEEP_SESSIONS_MAX);
            match swept {
                Ok(Ok((_, faults))) => {
                    let words = faults.iter().map(|fault| format!("a timer came to nothing: {fault}"));
                    words.for_each(|line| print::note(print::plain(&line)));
                }
                Ok(Err(fault)) => print::note(print::plain(&format!("timers could not be looked at: {fault}"))),
                Err(_) => {}
            }
            // Many that are due at once do not hold up those that come due after them.
            if !more {
                tokio::time::sleep(SWEEP_EVERY).await;
            }
        }
    });
}

pub(super) fn end_on_signals(ending: &CancellationToken) {
    let ending = ending.clone();
    tokio::spawn(async move {
        #[cfg(unix)]
        {
            let terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
            if let Ok(mut terminate) = terminate {
                tokio::select! {
                    _ = tokio::signal::ctrl_c() => {}
                    _ = terminate.recv() => {}
                }
                return ending.cancel();
            }
        }
        let _ = tokio::signal::ctrl_c().await;
        ending.cancel();
    });
}
