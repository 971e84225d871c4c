//! `${NAME}` and `${NAME:-default}` in the texts of a server's entry, filled in from the environment.

use std::collections::BTreeMap;

use super::Environment;
use super::config::{Auth, Reach};
use super::secret::Secrets;

/// A server's entry as it is used now, and the values in it that are nobody's business.
#[derive(Debug, Clone)]
pub(super) struct Filled {
    pub(super) reach: Reach,
    pub(super) auth: Option<Auth>,
    pub(super) secrets: Secrets,
}

/// Fills in an entry. The fault names the variable and the text that it is missing from, never a value.
pub(super) fn fill(reach: &Reach, auth: Option<&Auth>, environment: &Environment) -> Result<Filled, String> {
    let secrets = Secrets::default();
    let mut text = |what: &str, text: &str| expand(text, environment, &secrets).map_err(|f| format!("{f} in `{what}`"));
    let reach = match reach {
        Reach::Program { command, args, env, cwd } => Reach::Program {
            command: text("command", command)?,
            args: args.iter().map(|arg| text("args", arg)).collect::<Result<_, String>>()?,
            env: all("env", env, &mut text)?,
            cwd: cwd.as_ref().map(|cwd| text("cwd", cwd)).transpose()?,
        },
        Reach::Web { url, headers, legacy } => {
            Reach::Web { url: text("url", url)?, headers: all("headers", headers, &mut text)?, legacy: *legacy }
        }
    };
    let auth = match auth {
        None => None,
        Some(Auth::Bearer(token)) => Some(Auth::Bearer(text("auth", token)?)),
        Some(Auth::ClientCredentials { id, secret, scope, token_url }) => Some(Auth::ClientCredentials {
            id: text("auth.client_id", id)?,
            secret: text("auth.client_secret", secret)?,
            scope: scope.as_ref().map(|s| text("auth.scope", s)).transpose()?,
            token_url: token_url.as_ref().map(|u| text("auth.token_url", u)).transpose()?,
        }),
    };
    Ok(Filled { reach, auth, secrets })
}

fn all(
    what: &str,
    texts: &BTreeMap<String, String>,
    text: &mut dyn FnMut(&str, &str) -> Result<String, String>,
) -> Result<BTreeMap<String, String>, String> {
    texts.iter().map(|(name, value)| Ok((name.clone(), text(&format!("{what}.{name}"), value)?))).collect()
}

fn expand(text: &str, environment: &Environment, secrets: &Secrets) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, tail)) = after.split_once('}') else {
            return Err(format!("`${{{}` has no end", after.chars().take(20).collect::<String>()));
        };
        let (name, default) = inside.split_once(":-").map_or((inside, None), |(n, d)| (n, Some(d)));
        let named = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(named) {
            return Err(format!("`{name}` is no name of a variable"));
        }
        match (environment(name).filter(|value| !value.is_empty() || default.is_none()), default) {
            (Some(value), _) => {
                secrets.add(name, &value);
                out.push_str(&value);
            }
            (None, Some(default)) => out.push_str(default),
            (None, None) => return Err(format!("the environment variable `{name}` is not set, but used")),
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn variables_are_filled_in_and_missing_ones_are_named() {
        let environment: Environment = Arc::new(|name| match name {
            "TOKEN" => Some("s3cr3t-value".into()),
            "EMPTY" => Some(String::new()),
            _ => None,
        });
        let secrets = Secrets::default();
        let go = |text: &str| expand(text, &environment, &secrets);
        assert_eq!(go("Bearer ${TOKEN}!").unwrap(), "Bearer s3cr3t-value!");
        assert_eq!(go("${NONE:-a}${EMPTY:-b}${EMPTY}").unwrap(), "ab");
        assert_eq!(go("$HOME stays, so does $").unwrap(), "$HOME stays, so does $");
        assert!(go("${NONE}").unwrap_err().contains("`NONE` is not set"));
        assert!(go("${NONE").unwrap_err().contains("no end"));
        assert!(go("${a b}").unwrap_err().contains("no name"));
        assert_eq!(secrets.hide("it was s3cr3t-value"), "it was ${TOKEN}");
    }
}
