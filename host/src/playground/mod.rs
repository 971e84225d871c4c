//! The playground: a built page (`host/playground`), the components that this program runs, and a folder's documents, served on
//! loopback. The page does everything else itself; nothing comes back from it.

mod http;
mod page;
mod site;

pub use http::serve;
pub use page::{Page, PageFault};
pub use site::{Shown, Site};
