//! Sessions that go on without a caller, on their way to whoever looks after them.

use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::lock::Mutex;

use super::drive::Adrift;

/// One end puts them in, the other takes them out.
#[derive(Debug)]
pub(super) struct Channel {
    sender: UnboundedSender<Adrift>,
    receiver: Mutex<UnboundedReceiver<Adrift>>,
}

impl Default for Channel {
    fn default() -> Self {
        let (sender, receiver) = unbounded();
        Self { sender, receiver: Mutex::new(receiver) }
    }
}

impl Channel {
    pub(super) fn send(&self, adrift: Adrift) {
        // The other end lives as long as this one.
        let _ = self.sender.unbounded_send(adrift);
    }

    pub(super) async fn next(&self) -> Adrift {
        let next = self.receiver.lock().await.next().await;
        match next {
            Some(adrift) => adrift,
            None => std::future::pending().await,
        }
    }
}
