//! The one HTTP client of the host: whoever sends a request out, to an upstream server, a webhook or a collector, does it
//! through this door.

use std::sync::OnceLock;
use std::time::Duration;

use crate::limits::WEB_ANSWER_BYTES_MAX;

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

/// How long a whole request that only hands something over may take.
const POST_TIME: Duration = Duration::from_secs(20);

/// Hands a text over, and returns the status that came back.
///
/// # Errors
/// Where there is no client, no such address, or no answer in time.
pub async fn post(url: &str, headers: &[(&str, String)], body: String) -> Result<u16, String> {
    let mut request = client()?.post(url).timeout(POST_TIME).body(body);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let answer = request.send().await.map_err(|error| format!("`{url}` cannot be reached: {error}"))?;
    Ok(answer.status().as_u16())
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

/// Sends a request and gives the whole answer, if it comes within this time. What failed is told without the address, which
/// may hold a secret.
///
/// # Errors
/// Where there is no client, no answer in time, or one that is too long.
pub async fn exchange(request: http::Request<Vec<u8>>, time: Duration) -> Result<http::Response<Vec<u8>>, String> {
    let mut request = reqwest::Request::try_from(request).map_err(|error| error.without_url().to_string())?;
    *request.timeout_mut() = Some(time);
    let mut answer = client()?.execute(request).await.map_err(|error| error.without_url().to_string())?;
    let mut response = http::Response::builder().status(answer.status());
    if let Some(headers) = response.headers_mut() {
        headers.clone_from(answer.headers());
    }
    let mut body = Vec::new();
    while let Some(more) = answer.chunk().await.map_err(|error| error.without_url().to_string())? {
        if body.len() + more.len() > WEB_ANSWER_BYTES_MAX {
            return Err(format!("the answer is longer than {WEB_ANSWER_BYTES_MAX} bytes"));
        }
        body.extend_from_slice(&more);
    }
    response.body(body).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_one() {
        assert!(super::client().is_ok());
    }
}
