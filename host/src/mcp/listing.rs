//! What a client is told of this server before it calls: tools and instructions. Made once for each catalogue: the wire asks
//! for both with every single HTTP request.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::Tool;

use super::{authoring, convert};
use crate::catalogue::Catalogue;

/// Instructions of documents that are told: a client reads these texts before it does anything.
const INSTRUCTIONS_MAX: usize = 1_000;

/// Tools and instructions of one catalogue.
#[derive(Debug)]
pub(super) struct Listing {
    of: Arc<Catalogue>,
    /// As they are listed.
    pub(super) tools: Vec<Tool>,
    /// For the model.
    pub(super) instructions: String,
}

/// The newest listing.
#[derive(Debug, Default)]
pub(super) struct Listings(Mutex<Option<Arc<Listing>>>);

impl Listings {
    /// The listing of this catalogue, with the authors' own tools or without.
    pub(super) fn of(&self, catalogue: Arc<Catalogue>, authors: bool) -> Arc<Listing> {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listing) = newest.as_ref().filter(|listing| Arc::ptr_eq(&listing.of, &catalogue)) {
            return Arc::clone(listing);
        }
        let tools = tools(&catalogue, authors);
        let listing = Arc::new(Listing { tools, instructions: instructions(&catalogue), of: catalogue });
        *newest = Some(Arc::clone(&listing));
        listing
    }
}

fn tools(catalogue: &Catalogue, authors: bool) -> Vec<Tool> {
    let own = if authors { authoring::tools() } else { Vec::new() };
    let taken = |name: &str| own.iter().any(|tool| tool.name == name);
    let others = catalogue.tools.values().filter(|t| !taken(&t.tool.name)).filter_map(|t| convert::tool(&t.tool));
    others.chain(own.iter().filter_map(convert::tool)).collect()
}

/// What a model should know of this server. Dialects and documents add their own words.
fn instructions(catalogue: &Catalogue) -> String {
    let titles: Vec<String> = catalogue.offered.iter().map(|o| o.plugin.about.title.clone()).collect();
    let mut text = format!(
        "This server walks you through procedures, one step at a time ({}). Start one, do exactly what each reply's \
         instruction says, answer, and read the next. The steps come from a reviewed document: do not skip, guess or \
         invent answers. Every run is kept under the session id in its replies; if you lose it, list the runs and ask \
         for the status. A refused answer changes nothing and says what is expected.",
        titles.join("; ")
    );
    // Most documents of a dialect have the same to say, and most workflows of a document.
    let mut said: HashSet<&str> = HashSet::new();
    for more in catalogue.files.iter().flat_map(|f| &f.definitions).filter_map(|d| d.instructions.as_deref()) {
        if said.len() < INSTRUCTIONS_MAX && said.insert(more) {
            text.push_str("\n\n");
            text.push_str(more);
        }
    }
    text
}
