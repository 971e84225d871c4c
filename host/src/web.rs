//! The one HTTP client of the host: whoever sends a request out, to an upstream server, a webhook or a collector, does it
//! through this door.

use std::sync::OnceLock;
use std::time::Duration;

/// How long a server may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// The program's HTTP client, with TLS that trusts what the system trusts. Redirects are not followed: a secret in a
/// header would go where nobody sent it.
///
/// # Errors
/// Where the system has no usable certificates or no resolver.
pub fn client() -> Result<reqwest::Client, String> {
    static CLIENT: OnceLock<Result<reqwest::Client, String>> = OnceLock::new();
    CLIENT.get_or_init(made).clone()
}

/// The same for servers that answer with streams of events: no connection is used again before its stream is read, which
/// would cost each next request the 40 ms of a delayed acknowledgement.
///
/// # Errors
/// As for [`client`].
pub fn streaming() -> Result<reqwest::Client, String> {
    static CLIENT: OnceLock<Result<reqwest::Client, String>> = OnceLock::new();
    CLIENT.get_or_init(|| built(builder().pool_max_idle_per_host(0))).clone()
}

fn made() -> Result<reqwest::Client, String> {
    built(builder())
}

fn builder() -> reqwest::ClientBuilder {
    // Someone who embeds the host may have chosen another one: that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("wfhost/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIME)
        .redirect(reqwest::redirect::Policy::none())
}

fn built(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, String> {
    builder.build().map_err(|error| format!("no HTTP client: {error}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_one() {
        assert!(super::client().is_ok());
    }
}
