//! Resources: a text, a picture, and a template.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceTemplate};
use serde_json::{Value, json};

use super::PIXEL_PNG;

/// All that are not made from the template. A resource that can be watched does not change.
pub(super) fn all() -> Vec<Resource> {
    super::read(json!([
        {
            "uri": "test://static-text",
            "name": "static-text",
            "description": "A text",
            "mimeType": "text/plain",
        },
        {
            "uri": "test://static-binary",
            "name": "static-binary",
            "description": "A picture",
            "mimeType": "image/png",
        },
        {
            "uri": "test://watched-resource",
            "name": "watched-resource",
            "description": "A text that can be subscribed to",
            "mimeType": "text/plain",
        },
    ]))
}

/// The template.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    super::read(json!([{
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "A record by its id",
        "mimeType": "application/json",
    }]))
}

/// The content of a resource.
pub(super) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let content = content(uri).ok_or_else(|| {
        ErrorData::resource_not_found("there is no such resource", Some(json!({"uri": uri})))
    })?;
    Ok(super::read(json!({"resultType": "complete", "contents": [content]})))
}

fn content(uri: &str) -> Option<Value> {
    let content = match uri {
        "test://static-text" => json!({
            "uri": uri,
            "mimeType": "text/plain",
            "text": "This is the content of the static text resource.",
        }),
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PIXEL_PNG}),
        "test://watched-resource" => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "This resource can be watched."})
        }
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let record = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            json!({"uri": uri, "mimeType": "application/json", "text": record.to_string()})
        }
    };
    Some(content)
}
