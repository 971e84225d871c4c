//! All workflows that are offered, and their tools: read from folders, compiled by the plugins that own them, looked up by
//! name. A catalogue is never changed; a new one takes its place.

mod definition;
mod draft;
mod finding;
mod folder;
mod load;
mod plugins;
mod publish;
mod watch;

pub use definition::{Definition, DefinitionFault};
pub use draft::{Draft, SaveFault, save};
pub use finding::{Clash, Finding};
pub(crate) use folder::fits;
pub use folder::{FileFault, Found, WALK_SUFFIX, read};
pub use load::{Beside, Catalogue, File, Offered, Tool};
pub(crate) use plugins::could_own;
pub use plugins::{Chosen, Plugins};
pub use watch::Watch;
