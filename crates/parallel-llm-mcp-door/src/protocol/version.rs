//! Protocol versions: removes from results what a client's version does not know.
//!
//! Some SDKs discard a whole result, and what was paid for it, over one block of an unknown type. One table serves two
//! purposes: results lose members and content blocks of later versions, and methods that a version lacks are not
//! offered. What always holds: a text in a result of the newest version is in the same place in every other version.

use rmcp::model::{CallToolResponse, ProtocolVersion};
use rmcp::service::{RequestContext, RoleServer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A protocol version and its additions to results.
struct Revision {
    version: ProtocolVersion,
    /// The members added to results, as paths; `*` is every element of a list.
    members: &'static [&'static str],
    /// The content types added.
    blocks: &'static [&'static str],
}

/// Every version after the first, from the schemas of the specification.
const REVISIONS: [Revision; 4] = [
    Revision {
        version: ProtocolVersion::V_2025_03_26,
        members: &["capabilities/completions", "tools/*/annotations"],
        blocks: &["audio"],
    },
    Revision {
        version: ProtocolVersion::V_2025_06_18,
        members: &[
            "serverInfo/title",
            "tools/*/title",
            "tools/*/outputSchema",
            "tools/*/_meta",
            "prompts/*/title",
            "prompts/*/_meta",
            "prompts/*/arguments/*/title",
            "resources/*/title",
            "resources/*/_meta",
            "resources/*/annotations/lastModified",
            "resourceTemplates/*/title",
            "resourceTemplates/*/_meta",
            "contents/*/_meta",
            "structuredContent",
            "content/*/_meta",
            "content/*/annotations/lastModified",
            "messages/*/content/_meta",
        ],
        blocks: &["resource_link"],
    },
    Revision {
        version: ProtocolVersion::V_2025_11_25,
        members: &[
            "serverInfo/description",
            "serverInfo/icons",
            "serverInfo/websiteUrl",
            "tools/*/icons",
            "prompts/*/icons",
            "resources/*/icons",
            "resourceTemplates/*/icons",
            "content/*/icons",
        ],
        blocks: &[],
    },
    Revision {
        version: ProtocolVersion::V_2026_07_28,
        members: &["capabilities/extensions", "ttlMs", "cacheScope"],
        blocks: &[],
    },
];

/// A served method.
struct Method {
    name: &'static str,
    /// The versions that have it.
    eras: Eras,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Eras {
    All,
    /// Versions with a handshake.
    Older,
    /// The version without a handshake.
    Newest,
}

const METHODS: [Method; 14] = [
    Method { name: "initialize", eras: Eras::Older },
    Method { name: "ping", eras: Eras::Older },
    Method { name: "server/discover", eras: Eras::Newest },
    Method { name: "tools/list", eras: Eras::All },
    Method { name: "tools/call", eras: Eras::All },
    Method { name: "prompts/list", eras: Eras::All },
    Method { name: "prompts/get", eras: Eras::All },
    Method { name: "resources/list", eras: Eras::All },
    Method { name: "resources/templates/list", eras: Eras::All },
    Method { name: "resources/read", eras: Eras::All },
    Method { name: "completion/complete", eras: Eras::All },
    Method { name: "tasks/get", eras: Eras::Newest },
    Method { name: "tasks/update", eras: Eras::Newest },
    Method { name: "tasks/cancel", eras: Eras::Newest },
];

/// The version of a request; the oldest if it names none.
pub(crate) fn of(context: &RequestContext<RoleServer>) -> ProtocolVersion {
    context.protocol_version().unwrap_or(ProtocolVersion::V_2024_11_05)
}

/// Whether the version has no handshake and no requests by servers.
pub(crate) fn is_newest(version: &ProtocolVersion) -> bool {
    *version >= ProtocolVersion::NO_INITIALIZE
}

/// The methods of this version.
pub(crate) fn methods(version: &ProtocolVersion) -> Vec<&'static str> {
    let other = if is_newest(version) { Eras::Older } else { Eras::Newest };
    METHODS.iter().filter(|method| method.eras != other).map(|method| method.name).collect()
}

/// A result reduced to what this version knows.
pub(crate) fn known<T: Serialize + DeserializeOwned>(version: &ProtocolVersion, result: T) -> T {
    let later: Vec<&Revision> = REVISIONS.iter().filter(|revision| revision.version > *version).collect();
    if later.is_empty() {
        return result;
    }
    let mut value = serde_json::to_value(result).expect("a result is plain data with string keys");
    for revision in later {
        for path in revision.members {
            remove(&mut value, path);
        }
        if let Some(Value::Array(blocks)) = value.get_mut("content") {
            blocks.retain(|block| !revision.blocks.iter().any(|unknown| block["type"] == *unknown));
        }
    }
    serde_json::from_value(value).expect("each member of the table is optional")
}

/// The same for the answer to a call. Tasks and questions go only to clients of the newest version.
pub(crate) fn known_response(version: &ProtocolVersion, response: CallToolResponse) -> CallToolResponse {
    match response {
        CallToolResponse::Complete(result) => CallToolResponse::Complete(known(version, result)),
        response => response,
    }
}

fn remove(value: &mut Value, path: &str) {
    match path.split_once('/') {
        Some(("*", rest)) => {
            value.as_array_mut().into_iter().flatten().for_each(|element| remove(element, rest));
        }
        Some((name, rest)) => {
            if let Some(inner) = value.get_mut(name) {
                remove(inner, rest);
            }
        }
        None => {
            if let Some(members) = value.as_object_mut() {
                members.remove(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolResult, ContentBlock, Resource};
    use serde_json::json;

    use super::*;

    fn result() -> CallToolResult {
        let mut result = CallToolResult::success(vec![ContentBlock::text("the answer")]);
        result.structured_content = Some(json!({"answer": "the answer"}));
        result.content.push(ContentBlock::resource_link(Resource::new("a:b", "name")));
        result
    }

    #[test]
    fn a_result_holds_what_its_version_knows_and_always_the_text() {
        let described = |version| {
            let result = json!(known(&version, result()));
            let kinds =
                result["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap());
            (kinds.collect::<Vec<_>>().join(" "), result.get("structuredContent").is_some())
        };
        for version in [ProtocolVersion::V_2024_11_05, ProtocolVersion::V_2025_03_26] {
            assert_eq!(described(version), ("text".to_owned(), false));
        }
        for version in [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2026_07_28] {
            assert_eq!(described(version), ("text resource_link".to_owned(), true));
        }
    }

    #[test]
    fn the_table_has_every_version_after_the_first_in_order() {
        let versions: Vec<&ProtocolVersion> = REVISIONS.iter().map(|revision| &revision.version).collect();
        assert_eq!(versions, ProtocolVersion::KNOWN_VERSIONS[1..].iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_method_is_offered_where_it_is_served() {
        let newest = methods(&ProtocolVersion::V_2026_07_28);
        assert!(
            !newest.contains(&"initialize") && !newest.contains(&"ping") && newest.contains(&"tasks/get")
        );
        let older = methods(&ProtocolVersion::V_2025_11_25);
        assert!(older.contains(&"initialize") && older.contains(&"ping") && !older.contains(&"tasks/get"));
    }
}
