//! Views as MCP resources and prompts: what a session has to say beyond its status and trace, for clients that let their
//! user pick such texts.

use std::collections::HashMap;

use rmcp::ErrorData;
use rmcp::model::{
    ErrorCode, GetPromptRequestParams, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role,
};
use serde_json::{Map, Value, json};

use crate::catalogue::{Catalogue, Definition, Offered};
use crate::plugin::Plugin;
use crate::plugin::contract::{self, View};
use crate::session::{Caller, Fault, Host, Viewed};

/// The parameter that names a session; without it the caller's own is shown, or a start that is thrown away.
pub(super) const SESSION: &str = "session";

/// A view that is offered, under the name by which clients know it: a prompt's name, or a resource's URI template.
pub(super) struct Offer<'c> {
    pub(super) name: String,
    pub(super) view: &'c View,
    offered: &'c Offered,
    definition: &'c Definition,
}

/// All views of one kind. One name for one view: where several workflows have the same, each gets its workflow in front.
fn offers(catalogue: &Catalogue, prompt: bool) -> Vec<Offer<'_>> {
    let mut offers = Vec::new();
    for offered in &catalogue.offered {
        let definitions = offered.ids.iter().filter_map(|id| offered.definition(id));
        for definition in definitions {
            for view in definition.views.iter().filter(|view| view.prompt == prompt) {
                let name = if prompt { view.name.clone() } else { template(offered, definition, view) };
                offers.push(Offer { name, view, offered, definition });
            }
        }
    }
    let mut times: HashMap<String, usize> = HashMap::new();
    offers.iter().for_each(|offer| *times.entry(offer.name.clone()).or_default() += 1);
    for offer in offers.iter_mut().filter(|offer| times.get(&offer.name).is_some_and(|times| *times > 1)) {
        let workflow = &offer.definition.about.id;
        offer.name = match offer.name.split_once("://") {
            Some((scheme, rest)) => format!("{scheme}://{workflow}/{rest}"),
            None => format!("{workflow}.{}", offer.name),
        };
    }
    offers
}

/// The URI template of a view: its name if that is one, else one that says whose it is.
fn template(offered: &Offered, definition: &Definition, view: &View) -> String {
    if view.name.contains("://") {
        return view.name.clone();
    }
    let parameters: String = view.parameters.iter().map(|name| format!("/{{{name}}}")).collect();
    format!("wfhost://{}/{}/{}{parameters}", offered.plugin.about.name, definition.about.id, view.name)
}

/// The resources that need no parameter.
pub(super) fn resources(catalogue: &Catalogue) -> Vec<Resource> {
    let plain = offers(catalogue, false).into_iter().filter(|offer| offer.view.parameters.is_empty());
    plain
        .map(|offer| {
            let mut resource = Resource::new(offer.name.clone(), offer.view.title.clone());
            resource.title = Some(offer.view.title.clone());
            resource.description = Some(offer.view.description.clone());
            resource.mime_type = Some(offer.view.mime.clone());
            resource
        })
        .collect()
}

/// Every resource, with its parameters and the session.
pub(super) fn templates(catalogue: &Catalogue) -> Vec<ResourceTemplate> {
    let all = offers(catalogue, false).into_iter();
    all.map(|offer| {
        let mut template = ResourceTemplate::new(format!("{}{{?{SESSION}}}", offer.name), offer.view.title.clone());
        template.title = Some(offer.view.title.clone());
        template.description = Some(offer.view.description.clone());
        template.mime_type = Some(offer.view.mime.clone());
        template
    })
    .collect()
}

/// Every prompt: the views that are some, then how to write documents of the dialects that say it.
pub(super) fn prompts(catalogue: &Catalogue) -> Vec<Prompt> {
    let all = offers(catalogue, true).into_iter();
    let views = all.map(|offer| {
        let parameters = offer.view.parameters.iter().map(|name| PromptArgument::new(name.clone()).with_required(true));
        let session = PromptArgument::new(SESSION).with_description("The session to show; your own if left out.");
        let arguments = parameters.chain([session.with_required(false)]).collect();
        let mut prompt = Prompt::new(offer.name.clone(), Some(offer.view.description.clone()), Some(arguments));
        prompt.title = Some(offer.view.title.clone());
        prompt
    });
    let views: Vec<Prompt> = views.collect();
    let skills = skills(catalogue).filter(|(name, _)| !views.iter().any(|view| view.name == *name));
    let skills = skills.map(|(name, plugin)| {
        let mut prompt = Prompt::new(name, Some(about_skill(plugin)), None);
        prompt.title = Some(format!("Write for: {}", plugin.about.title));
        prompt
    });
    let skills: Vec<Prompt> = skills.collect();
    views.into_iter().chain(skills).collect()
}

/// The dialects that say how their documents are written, each with the name of that prompt.
fn skills(catalogue: &Catalogue) -> impl Iterator<Item = (String, &Plugin)> {
    let plugins = catalogue.offered.iter().map(|offered| &*offered.plugin);
    plugins.filter(|plugin| plugin.about.skill.is_some()).map(|plugin| (format!("write_{}", plugin.about.name), plugin))
}

fn about_skill(plugin: &Plugin) -> String {
    format!("How to write workflow documents: {}", plugin.about.title)
}

/// Whether there is a resource of this URI.
pub(super) fn is_resource(catalogue: &Catalogue, uri: &str) -> bool {
    let plain = uri.split_once('?').map_or(uri, |(plain, _)| plain);
    offers(catalogue, false).iter().any(|offer| parameters(&offer.name, plain).is_some())
}

/// A resource's text.
pub(super) fn resource(host: &Host, caller: &Caller, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let (plain, query) = uri.split_once('?').unwrap_or((uri, ""));
    let session = query.split('&').find_map(|pair| pair.strip_prefix("session=")).map(str::to_owned);
    let catalogue = host.catalogue();
    let found = offers(&catalogue, false).into_iter().find_map(|offer| Some((parameters(&offer.name, plain)?, offer)));
    let Some((args, offer)) = found else {
        return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, "Resource not found", Some(json!({"uri": uri}))));
    };
    let text = offer.text(host, caller, (session, args))?;
    let mime_type = Some(offer.view.mime.clone());
    let uri = uri.to_owned();
    Ok(ReadResourceResult::new(vec![if is_text(&offer.view.mime) {
        ResourceContents::TextResourceContents { uri, mime_type, text, meta: None }
    } else {
        ResourceContents::BlobResourceContents { uri, mime_type, blob: text, meta: None }
    }]))
}

/// A prompt's messages: a view in JSON holds all of them, any other is one that the user might have written.
pub(super) fn prompt(
    host: &Host,
    caller: &Caller,
    params: &GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let catalogue = host.catalogue();
    let Some(offer) = offers(&catalogue, true).into_iter().find(|offer| offer.name == params.name) else {
        if let Some((_, plugin)) = skills(&catalogue).find(|(name, _)| *name == params.name) {
            let message = PromptMessage::new_text(Role::User, plugin.about.skill.clone().unwrap_or_default());
            return Ok(GetPromptResult::new(vec![message]).with_description(about_skill(plugin)));
        }
        return Err(ErrorData::invalid_params(format!("Unknown prompt: {}", params.name), None));
    };
    let mut args = params.arguments.clone().unwrap_or_default();
    let session = args.remove(SESSION).and_then(|id| id.as_str().map(str::to_owned));
    if let Some(missing) = offer.view.parameters.iter().find(|name| !args.contains_key(*name)) {
        return Err(ErrorData::invalid_params(format!("the prompt needs the argument `{missing}`"), None));
    }
    let text = offer.text(host, caller, (session, args))?;
    let messages = if offer.view.mime == "application/json" {
        let bad =
            |e: serde_json::Error| ErrorData::internal_error(format!("the prompt's messages are none: {e}"), None);
        serde_json::from_str(&text).map_err(bad)?
    } else {
        vec![PromptMessage::new_text(Role::User, text)]
    };
    Ok(GetPromptResult::new(messages).with_description(offer.view.description.clone()))
}

/// The workflow of a prompt or resource template, for completions of its `session`.
pub(super) fn workflow(catalogue: &Catalogue, name: &str, prompt: bool) -> Option<(String, String)> {
    let name = name.strip_suffix(&format!("{{?{SESSION}}}")).unwrap_or(name);
    let offer = offers(catalogue, prompt).into_iter().find(|offer| offer.name == name)?;
    Some((offer.offered.plugin.about.name.clone(), offer.definition.about.id.clone()))
}

impl Offer<'_> {
    fn text(
        &self,
        host: &Host,
        caller: &Caller,
        (session, args): (Option<String>, JsonObject),
    ) -> Result<String, ErrorData> {
        let args = Value::Object(args).to_string();
        let viewed = Viewed {
            interpreter: &self.offered.plugin.about.name,
            workflow: &self.definition.about.id,
            session,
            view: &self.view.name,
            args: &args,
        };
        match host.view_of(caller, viewed) {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(refused)) => Err(ErrorData::invalid_params(words(&refused), None)),
            Err(fault @ Fault::UnknownSession(_)) => Err(ErrorData::invalid_params(fault.to_string(), None)),
            Err(fault) => Err(ErrorData::internal_error(fault.to_string(), None)),
        }
    }
}

fn words(output: &contract::Output) -> String {
    serde_json::from_str::<String>(&output.value).unwrap_or_else(|_| output.value.clone())
}

/// What the parameters of a template are in a URI. None if it is not of that template.
fn parameters(template: &str, uri: &str) -> Option<JsonObject> {
    let (mut template, mut uri) = (template, uri);
    let mut found = Map::new();
    while let Some((before, rest)) = template.split_once('{') {
        let (name, after) = rest.split_once('}')?;
        uri = uri.strip_prefix(before)?;
        let end = uri.find('/').unwrap_or(uri.len());
        let (value, left) = uri.split_at(end);
        if value.is_empty() {
            return None;
        }
        found.insert(name.to_owned(), Value::from(value));
        (template, uri) = (after, left);
    }
    (template == uri).then_some(found)
}

/// Whether a view of this kind is text. Any other is rendered in Base64.
fn is_text(mime: &str) -> bool {
    let mime = mime.split(';').next().unwrap_or_default().trim();
    let texts = ["application/json", "application/xml", "application/yaml", "application/javascript", "image/svg+xml"];
    mime.starts_with("text/") || mime.ends_with("+json") || mime.ends_with("+xml") || texts.contains(&mime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_read_by_its_template() {
        let read = |template, uri| parameters(template, uri).map(|found| Value::from(found).to_string());
        assert_eq!(read("test://plain", "test://plain"), Some("{}".into()));
        assert_eq!(read("test://a/{id}/data", "test://a/7/data"), Some(r#"{"id":"7"}"#.into()));
        assert_eq!(read("w://t/{a}/{b}", "w://t/x/y"), Some(r#"{"a":"x","b":"y"}"#.into()));
        for (template, uri) in [
            ("test://plain", "test://other"),
            ("t://{id}/d", "t:///d"),
            ("t://{id}/d", "t://1/d/e"),
            ("t://{id}", "t://"),
        ] {
            assert_eq!(read(template, uri), None, "{template} {uri}");
        }
    }

    #[test]
    fn pictures_are_no_text() {
        for (mime, text) in [
            ("text/plain; charset=utf-8", true),
            ("application/json", true),
            ("image/png", false),
            ("image/svg+xml", true),
        ] {
            assert_eq!(is_text(mime), text, "{mime}");
        }
    }
}
