//! Documents against the upstream servers that they name: what the servers offer is laid beside each document, and its
//! interpreter says which tools are not there. Only the check starts or calls anything, and nothing but the list is asked for.

use std::collections::HashMap;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::upstreams::{Reached, Upstreams};
use super::{place, print};
use crate::catalogue::{Catalogue, Plugins};
use crate::plugin::contract::{Document, Server};
use crate::upstream::{Hub, Listing};

/// The path of the companion, as the contract has it.
const OFFERS: &str = "upstream/tool-list.json";

/// What came of asking.
pub(super) struct Asked {
    /// The documents, checked against what their servers offer.
    pub(super) catalogue: Catalogue,
    /// Servers that could not be asked, and why.
    pub(super) unavailable: Vec<(String, String)>,
}

/// Asks the servers of these documents, and the operator's own, and reads the documents once more.
pub(super) fn ask(
    plugins: &Plugins,
    read: &Catalogue,
    (places, upstreams): (&[std::path::PathBuf], &Upstreams),
) -> Result<Asked> {
    let hub = upstreams.hub(Reached::Locally)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.context("the threads that ask cannot be started")?;
    let (offers, unavailable) = runtime.block_on(async {
        let asked = offers(&hub, read).await;
        hub.close().await;
        asked
    });
    let beside = |shown: &str| {
        let text = offers.get(shown)?;
        Some(Document { path: OFFERS.into(), bytes: text.clone().into_bytes() })
    };
    let there = place::readable(places).0;
    let catalogue = Catalogue::load_beside(plugins, &there, (None, &beside))?;
    Ok(Asked { catalogue, unavailable })
}

/// By document what its servers offer, and the servers that did not answer, each once.
async fn offers(hub: &Hub, read: &Catalogue) -> (HashMap<String, String>, Vec<(String, String)>) {
    let _progress = print::Progress::of("asking upstream servers");
    let (mut offers, mut unavailable) = (HashMap::new(), Vec::new());
    for file in &read.files {
        let declared: Vec<Server> = file.definitions.iter().flat_map(|d| d.servers.iter().cloned()).collect();
        let listings = hub.offers(&declared).await;
        for listing in &listings {
            if let Err(why) = &listing.tools {
                let one = (listing.server.clone(), why.clone());
                if !unavailable.contains(&one) {
                    unavailable.push(one);
                }
            }
        }
        let all: serde_json::Map<String, Value> = listings.iter().map(|l| (l.server.clone(), listed(l))).collect();
        offers.insert(file.shown.clone(), Value::Object(all).to_string());
    }
    (offers, unavailable)
}

/// As a `tool-list` request gives it. What the operator denies is not there.
fn listed(listing: &Listing) -> Value {
    match &listing.tools {
        Ok(tools) => {
            json!({"tools": tools.iter().filter(|offer| offer.allowed).map(|offer| &offer.tool).collect::<Vec<_>>()})
        }
        Err(why) => json!({"failure": {"kind": "unavailable", "message": why}}),
    }
}
