//! temp
use wfhost_guest::model::*;
use wfhost_guest::{At, Dialect, reply};
/// x
#[derive(Debug)]
pub struct Trees;
impl Dialect for Trees {
    fn recognise(document: &Document) -> Option<Vec<String>> { document.bytes.starts_with(b"mcptree").then(Vec::new) }
    fn compile(_bundle: &Bundle) -> Compiled { Compiled { definitions: vec![], diagnostics: vec![] } }
    fn tools(_workflows: &[Workflow]) -> Vec<Tool> { vec![] }
    fn route(call: &Call, _workflows: &[String]) -> Result<Action, Refusal> { Err(reply::refusal("x", &call.tool)) }
    fn catalogue(_call: &Call, _workflows: &[Workflow], _runs: &[Run]) -> Output { reply::failed("x") }
    fn start(_code: &[u8], _session: &Session, _event: Event) -> Result<Turn, Refusal> { Err(reply::refusal("x", "y")) }
    fn answer(_at: At<'_>, _memory: &Memory, _event: Event) -> Result<Turn, Refusal> { Err(reply::refusal("x", "y")) }
    fn status(_at: At<'_>) -> Output { reply::failed("x") }
    fn trace(_at: At<'_>, _journal: &Journal) -> Output { reply::failed("x") }
}
wfhost_guest::export!(Trees, include_str!("../about.json"));
