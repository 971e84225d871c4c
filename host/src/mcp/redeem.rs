//! A call that comes again with what was asked with its first reply. Questions may be closed by now, then the caller is told
//! where the session stands.

use serde_json::json;

use super::ask::{self, Redeemed};
use crate::plugin::contract::{Failure, Mishap, Reply, Source};
use crate::session::line::NoteRow;
use crate::session::{Advanced, Answered, Asked, Caller, Fault, Host};

/// Hands the session every answer that came, and asks again for those that did not.
pub(super) async fn redeemed(host: &Host, caller: &Caller, redeemed: &Redeemed) -> Result<Advanced, Fault> {
    let shown = host.show(caller, redeemed.session)?;
    let mut now = Advanced::about(redeemed.session, shown.status);
    let mut again = Vec::new();
    for (id, question, sent) in &redeemed.answers {
        let Some(open) = shown.head.requests.iter().find(|r| r.id == *id) else { continue };
        let asked = crate::session::ask(redeemed.session, open);
        // The same id may by now stand for another question, to which this is no answer.
        let Some(asked) = asked.filter(|asked| ask::fingerprint(asked) == *question) else { continue };
        let Some(sent) = sent else {
            again.push(open.clone());
            continue;
        };
        let source = if matches!(asked.what, Asked::Form { .. }) { Source::Human } else { Source::Model };
        let value = match ask::answer(&asked, sent) {
            Answered::Value(value) => Ok(value),
            Answered::Declined => Err(failure(Mishap::Declined, "the form was declined")),
            Answered::Unanswered(how) if matches!(source, Source::Model) => Err(failure(Mishap::Failed, &how)),
            Answered::Unanswered(how) => {
                let note =
                    NoteRow { kind: "unanswered".into(), request: Some(id.clone()), detail: json!({"how": how}) };
                host.note(caller, redeemed.session, &note).await?;
                continue;
            }
            Answered::Cannot | Answered::Later => continue,
        };
        let reply = Reply { request: id.clone(), value };
        let Some(next) = host.reply(caller, (redeemed.session, &open.need), &reply, source).await? else {
            continue;
        };
        // A refused failure leaves what the turn before said.
        if reply.value.is_ok() || !host.still_open(caller, redeemed.session, id)? {
            again.extend(next.opened.iter().cloned());
            now = next;
        }
    }
    now.opened = again;
    Ok(now)
}

fn failure(kind: Mishap, message: &str) -> Failure {
    Failure { kind, message: message.to_owned(), detail: None }
}
