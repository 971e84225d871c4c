//! A token by OAuth's client-credentials grant (RFC 6749, section 4.4). Where tokens are given out is in the entry, or is found
//! as MCP says: the server's protected-resource metadata (RFC 9728), then its authorization server's (RFC 8414).

use std::time::Duration;

use reqwest::{Client, Url};
use serde_json::Value;

use super::config::Auth;
use super::connect::chain;
use crate::web;

/// A token, and how long it holds if that was said.
pub(super) struct Fetched {
    pub(super) token: String,
    pub(super) time: Option<Duration>,
}

/// Fetches a token for the server at this address.
pub(super) async fn fetch(auth: &Auth, server: &str) -> Result<Fetched, String> {
    let Auth::ClientCredentials { id, secret, scope, token_url } = auth else {
        return Err("there is nothing to fetch a token with".into());
    };
    let client = web::client()?;
    let at = match token_url {
        Some(at) => Url::parse(at).map_err(|error| format!("the token address `{at}` is none: {error}"))?,
        None => find(&client, server).await?,
    };
    let mut form = vec![("grant_type", "client_credentials"), ("resource", server)];
    form.extend(scope.as_deref().map(|scope| ("scope", scope)));
    let body: String = url_encoded(&form);
    let request = client.post(at.clone()).basic_auth(encoded(id), Some(encoded(secret)));
    let request = request.header("Content-Type", "application/x-www-form-urlencoded").body(body);
    let answer = answer(request, at.as_str()).await?;
    let token = answer.get("access_token").and_then(Value::as_str).filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| format!("{at} gave no `access_token`"))?.to_owned();
    let time = answer.get("expires_in").and_then(Value::as_u64).map(Duration::from_secs);
    Ok(Fetched { token, time })
}

async fn find(client: &Client, server: &str) -> Result<Url, String> {
    let server = Url::parse(server).map_err(|error| format!("`{server}` is no address: {error}"))?;
    let mut issuer = server.clone();
    issuer.set_path("");
    for at in well_known(&server, "oauth-protected-resource") {
        if let Ok(about) = answer(client.get(at.clone()), at.as_str()).await {
            let named = about.get("authorization_servers").and_then(|s| s.get(0)).and_then(Value::as_str);
            if let Some(named) = named.and_then(|n| Url::parse(n).ok()) {
                issuer = named;
                break;
            }
        }
    }
    let mut places = well_known(&issuer, "oauth-authorization-server");
    places.extend(well_known(&issuer, "openid-configuration"));
    for at in places {
        if let Ok(about) = answer(client.get(at.clone()), at.as_str()).await {
            let token = about.get("token_endpoint").and_then(Value::as_str).and_then(|t| Url::parse(t).ok());
            if let Some(token) = token {
                return Ok(token);
            }
        }
    }
    Err(format!("where {issuer} gives out tokens could not be found; say it as `token_url`"))
}

/// Where such metadata lies: before the path of the address, and at the root.
fn well_known(of: &Url, what: &str) -> Vec<Url> {
    let path = of.path().trim_end_matches('/');
    let mut places = Vec::new();
    for suffix in [path, ""] {
        let mut at = of.clone();
        at.set_query(None);
        at.set_path(&format!("/.well-known/{what}{suffix}"));
        if !places.contains(&at) {
            places.push(at);
        }
    }
    places
}

async fn answer(request: reqwest::RequestBuilder, at: &str) -> Result<Value, String> {
    let response = request.header("Accept", "application/json").send().await;
    let response = response.map_err(|error| format!("{at} was not reached: {}", chain(&error)))?;
    let status = response.status();
    let body: Value = response.json().await.unwrap_or_default();
    if status.is_success() {
        return Ok(body);
    }
    let why = body.get("error_description").or_else(|| body.get("error")).and_then(Value::as_str);
    Err(format!("{at} answered {status}{}", why.map(|w| format!(": {w}")).unwrap_or_default()))
}

fn url_encoded(form: &[(&str, &str)]) -> String {
    form.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&")
}

fn encoded(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_looked_for_where_the_rules_say() {
        let server = Url::parse("https://tools.example/team/mcp?x=1").unwrap();
        let places: Vec<String> = well_known(&server, "oauth-protected-resource").iter().map(Url::to_string).collect();
        assert_eq!(
            places,
            [
                "https://tools.example/.well-known/oauth-protected-resource/team/mcp",
                "https://tools.example/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(encoded("a b&c=é"), "a%20b%26c%3D%C3%A9");
    }
}
