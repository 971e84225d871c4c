//! `wfhost playground`: the page on which procedures are written and walked, on loopback, with a folder's documents.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use tokio_util::sync::CancellationToken;

use super::serve::end_on_signals;
use super::{place, print, tidied};
use crate::catalogue::Plugins;
use crate::playground::{Page, Site, serve};
use crate::plugin::builtins;

/// What `playground` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "The page runs the interpreters itself, in the browser: nothing is sent back, and no file is changed. \
    Open the address that is printed; end with Ctrl-C."
)]
pub(super) struct Playground {
    /// A folder of documents to begin with, or one document; without it the page has its examples.
    #[arg(value_name = "DIR", value_parser = OsStringValueParser::new().map(tidied))]
    documents: Option<PathBuf>,
    /// A plugin that reads them and is not built in. Repeatable.
    #[arg(long = "plugin", value_name = "FILE")]
    plugins: Vec<PathBuf>,
    /// The built page [default: the one in this program]
    #[arg(long, value_name = "FOLDER")]
    page: Option<PathBuf>,
    /// Where to listen: a loopback address.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8128")]
    at: SocketAddr,
}

impl Playground {
    pub(super) fn run(self) -> Result<ExitCode> {
        if !self.at.ip().is_loopback() {
            bail!(
                "{} can be reached from other machines, and the page is for this one: listen on 127.0.0.1",
                self.at.ip()
            );
        }
        let at = self.at;
        let site = self.site()?;
        let shown = site.shown()?;
        for (path, reason) in &shown.left_out {
            print::note(print::plain(&format!("{path} is not shown: {reason}")));
        }
        let documents = shown.files.len();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("the threads that serve cannot be started")?;
        let served = runtime.block_on(async {
            let ending = CancellationToken::new();
            end_on_signals(&ending);
            let ready =
                |at: SocketAddr| print::note(format!("the playground is at http://{at}/ ({documents} documents)"));
            tokio::select! {
                served = serve(site, at, ending.clone(), ready) => served,
                // A browser keeps its connections open.
                () = ending.cancelled() => Ok(()),
            }
        });
        runtime.shutdown_background();
        served?;
        Ok(ExitCode::SUCCESS)
    }

    fn site(self) -> Result<Site> {
        let page = Page::choose(self.page)?;
        let runtime = place::runtime(place::cache())?;
        let named: Vec<String> = self.plugins.iter().map(|path| path.display().to_string()).collect();
        let own = Plugins::choose(&runtime, &named)?;
        let taken = |name: &str| !named.is_empty() && own.chosen.iter().any(|chosen| chosen.name == name);
        let built = builtins().iter().map(|b| b.name).filter(|name| !taken(name)).map(str::to_owned);
        let all: Vec<String> = named.iter().cloned().chain(built).collect();
        Ok(Site::new(page, Plugins::choose(&runtime, &all)?, self.documents))
    }
}
