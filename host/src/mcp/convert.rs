//! The contract's tools and outputs in MCP's form.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde_json::Value;

use crate::plugin::contract;

/// A tool as it is listed. None if a schema is no JSON object.
pub(super) fn tool(tool: &contract::Tool) -> Option<Tool> {
    let input: JsonObject = serde_json::from_str(&tool.input_schema).ok()?;
    let output: Option<JsonObject> = tool.output_schema.as_ref().map(|s| serde_json::from_str(s)).transpose().ok()?;
    let annotations = ToolAnnotations::with_title(tool.title.clone())
        .read_only(tool.read_only)
        .destructive(tool.destructive)
        .idempotent(tool.idempotent)
        .open_world(tool.open_world);
    let mut listed = Tool::new(tool.name.clone(), tool.description.clone(), Arc::new(input));
    listed.title = Some(tool.title.clone());
    listed.output_schema = output.map(Arc::new);
    listed.annotations = Some(annotations);
    Some(listed)
}

/// An output as a tool's result. The text is the structured content, character for character: some clients show a model the
/// one, some the other.
pub(super) fn output(output: &contract::Output) -> CallToolResult {
    let value: Value = serde_json::from_str(&output.value).unwrap_or_else(|_| Value::from(output.value.clone()));
    let own = output.content.as_ref().and_then(|blocks| serde_json::from_str::<Vec<ContentBlock>>(blocks).ok());
    let mut content = own.unwrap_or_else(|| {
        let headline = output.headline.iter().map(|h| ContentBlock::text(h.clone()));
        headline.chain([ContentBlock::text(text(&value))]).collect()
    });
    if content.is_empty() {
        content.push(ContentBlock::text(text(&value)));
    }
    let mut result = if output.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    if value.is_object() {
        result.structured_content = Some(value);
    }
    result
}

/// A failure that the model is to see, in words.
pub(super) fn failed(message: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message.to_owned())])
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: &str) -> Value {
        let value = value.to_owned();
        serde_json::to_value(output(&contract::Output { headline: None, value, content: None, is_error: false }))
            .unwrap()
    }

    #[test]
    fn text_and_structured_content_say_the_same() {
        let result = shown(r#"{"b":1.0,"a":12345678901234567890123,"é":"\u00e9"}"#);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, result["structuredContent"].to_string());
        assert!(text.contains("12345678901234567890123") && text.contains("1.0"));
    }

    #[test]
    fn what_is_no_object_is_text_alone() {
        assert_eq!(shown("\"plain\"")["content"][0]["text"], "plain");
        assert_eq!(shown("[1,2]")["content"][0]["text"], "[1,2]");
        assert!(shown("[1,2]").get("structuredContent").is_none());
    }
}
