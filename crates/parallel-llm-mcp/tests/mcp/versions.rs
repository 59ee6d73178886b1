//! Clients of older protocol versions get the whole paid answer and nothing that their version does not define.

use std::collections::BTreeSet;

use parallel_llm_testkit::simulator::Script;
use serde_json::{Value, json};

use super::client::{Client, PANEL, hello, structured};
use super::{question, sandbox_with};

/// Members whose content is not compared, because the protocol does not define it.
const OPAQUE: [&str; 5] = ["structuredContent", "inputSchema", "outputSchema", "_meta", "instructions"];

/// A client of this version after its handshake, and the result of `initialize`.
fn connect(version: &str, sandbox: &parallel_llm_testkit::Sandbox) -> (Client, Value) {
    let mut client = Client::silent(sandbox, &[]);
    let mut greeting = hello("test-client");
    greeting["protocolVersion"] = version.into();
    let initialized = client.request("initialize", greeting)["result"].clone();
    assert_eq!(initialized["protocolVersion"], version);
    client.notify("notifications/initialized", json!({}));
    (client, initialized)
}

/// The results of the methods that differ between versions, by method.
fn results(client: &mut Client, initialized: Value) -> Vec<(&'static str, Value)> {
    let id = client.start("process_prompt", question());
    let asked = client.result(id);
    let note = client.progress(id).pop().unwrap_or_default();
    let text = asked["content"][0]["text"].as_str().expect("it is text");
    let run_id = text.split_once("run_id ").expect("it names the run").1[..26].to_owned();
    let uri = format!("parallel-llm://runs/{run_id}");
    let report = client.call("get_run", json!({"run_id": run_id, "part": "report"}));
    let mut results = vec![("initialize", initialized), ("tools/call", report), ("progress", note)];
    for (method, params) in [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "second-opinion", "arguments": {"question": "Why?"}})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": uri})),
    ] {
        let reply = client.request(method, params);
        assert!(reply["result"].is_object(), "{method}: {reply}");
        results.push((method, reply["result"].clone()));
    }
    results
}

/// One line per method, with the members of its result.
fn by_method<'a>(paths: impl Iterator<Item = &'a String>) -> String {
    let mut lines: Vec<(&str, Vec<&str>)> = Vec::new();
    for (method, member) in paths.filter_map(|path| path.split_once('.')) {
        match lines.last_mut().filter(|(last, _)| *last == method) {
            Some((_, members)) => members.push(member),
            None => lines.push((method, vec![member])),
        }
    }
    let lines = lines.iter().map(|(method, members)| format!("  {method}: {}\n", members.join(", ")));
    lines.collect::<Vec<_>>().concat()
}

/// Collects the paths of all members of a value, and the types of its content blocks.
fn members(path: &str, value: &Value, found: &mut BTreeSet<String>) {
    for element in value.as_array().into_iter().flatten() {
        members(&format!("{path}[]"), element, found);
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        if name == "type" {
            found.insert(format!("{path} is {}", inner.as_str().expect("a type is text")));
            continue;
        }
        let path = format!("{path}.{name}");
        if !OPAQUE.contains(&name.as_str()) {
            members(&path, inner, found);
        }
        found.insert(path);
    }
}

/// Two-year-old SDKs reject a whole result, paid answer included, for one block of an unknown type.
#[test]
fn a_client_gets_the_paid_answer_and_nothing_its_version_does_not_define() {
    let long = "wörd ".repeat(10_000);
    let sandbox = sandbox_with([(PANEL[0], Script::answering(&long))]);
    let mut before = BTreeSet::new();
    let mut differences = String::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let (mut client, initialized) = connect(version, &sandbox);
        let results = results(&mut client, initialized);
        let called = &results[1].1;
        let refused = client.call("get_run", json!({"run_id": ""}));
        assert_eq!(structured(&refused).is_null(), version < "2025-06-18", "{version}: {refused}");
        let text = called["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("3 of 3 answered") && text.contains("was left out for its size"), "{text}");
        let mut now = BTreeSet::new();
        for (method, result) in &results {
            members(method, result, &mut now);
        }
        assert_eq!(before.difference(&now).next(), None, "{version} lacks a member of the version before");
        differences += &format!("{version}\n{}", by_method(now.difference(&before)));
        before = now;
        for (_, result) in &results {
            assert_uris(result);
        }
    }
    insta::assert_snapshot!(differences, @r"
    2024-11-05
      initialize: capabilities, capabilities.prompts, capabilities.resources, capabilities.tools, instructions, protocolVersion, serverInfo, serverInfo.name, serverInfo.version
      progress: progress, progressToken, total
      prompts/get: description, messages, messages[].content, messages[].content is text, messages[].content.text, messages[].role
      prompts/list: prompts, prompts[].arguments, prompts[].arguments[].description, prompts[].arguments[].name, prompts[].arguments[].required, prompts[].description, prompts[].name
      resources/list: resources, resources[].annotations, resources[].annotations.audience, resources[].annotations.priority, resources[].description, resources[].mimeType, resources[].name, resources[].uri
      resources/read: contents, contents[].mimeType, contents[].text, contents[].uri
      resources/templates/list: resourceTemplates, resourceTemplates[].annotations, resourceTemplates[].annotations.audience, resourceTemplates[].annotations.priority, resourceTemplates[].description, resourceTemplates[].mimeType, resourceTemplates[].name, resourceTemplates[].uriTemplate
      tools/call: content, content[] is text, content[].text, isError
      tools/list: tools, tools[].description, tools[].inputSchema, tools[].name
    2025-03-26
      initialize: capabilities.completions
      progress: message
      tools/list: tools[].annotations, tools[].annotations.destructiveHint, tools[].annotations.openWorldHint, tools[].annotations.readOnlyHint
    2025-06-18
      initialize: serverInfo.title
      prompts/list: prompts[].arguments[].title, prompts[].title
      resources/list: resources[]._meta, resources[].annotations.lastModified, resources[].title
      resources/read: contents[]._meta
      resources/templates/list: resourceTemplates[].title
      tools/call: content[] is resource_link, content[]._meta, content[].annotations, content[].annotations.audience, content[].annotations.priority, content[].mimeType, content[].name, content[].size, content[].title, content[].uri, structuredContent
      tools/list: tools[]._meta, tools[].outputSchema, tools[].title
    2025-11-25
      initialize: serverInfo.description, serverInfo.icons, serverInfo.icons[].mimeType, serverInfo.icons[].sizes, serverInfo.icons[].src
    ");
}

/// Fails if an address is no URI by RFC 3986.
#[track_caller]
fn assert_uris(value: &Value) {
    value.as_array().into_iter().flatten().for_each(assert_uris);
    for (name, inner) in value.as_object().into_iter().flatten() {
        match (name.as_str(), inner.as_str()) {
            ("uri" | "src" | "websiteUrl", Some(uri)) => assert!(is_uri(uri), "{name} is no URI: {uri}"),
            ("uriTemplate", Some(template)) => {
                let expanded = template.replace("{run_id}", "01JD").replace("{part}", "answer:1");
                assert!(is_uri(&expanded), "{template}");
            }
            _ => assert_uris(inner),
        }
    }
}

/// A scheme, followed only by characters that RFC 3986 allows and by percent signs with two hexadecimal digits.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|one| one.is_ascii_alphanumeric() || "+-.".contains(one));
    let mut pieces = rest.split('%');
    let first = pieces.next().unwrap_or_default();
    let escaped =
        |piece: &str| piece.get(..2).is_some_and(|two| two.chars().all(|one| one.is_ascii_hexdigit()));
    let is_plain = |piece: &str| {
        piece.chars().all(|one| one.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@/?#[]".contains(one))
    };
    let rest: Vec<&str> = pieces.collect();
    is_scheme && is_plain(first) && rest.iter().all(|piece| escaped(piece) && is_plain(&piece[2..]))
}

#[test]
fn invalid_uris_are_recognized() {
    for (text, expected) in [
        ("data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%3E", true),
        ("parallel-llm://runs/01JD/answer:1", true),
        ("data:image/svg+xml,%3Csvg xmlns", false),
        ("data:x,<svg>", false),
        ("data:x,%3", false),
        ("data:x,ä", false),
        ("runs/01JD", false),
    ] {
        assert_eq!(is_uri(text), expected, "{text}");
    }
}

#[test]
fn an_unknown_method_is_explained_with_those_of_its_version() {
    let sandbox = sandbox_with([]);
    let (mut older, _) = connect("2025-11-25", &sandbox);
    let error = older.request("tools/lst", json!({}))["error"].clone();
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("did you mean `tools/list`?") && message.contains("`initialize`, `ping`"),
        "{message}"
    );
    let mut newest = Client::silent(&sandbox, &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    assert!(newest.request("tools/list", json!({"_meta": meta}))["result"].is_object());
    let mut greeting = hello("test-client");
    greeting["_meta"] = meta.clone();
    for (method, params) in [
        ("tools/lst", json!({"_meta": meta})),
        ("initialize", json!({"_meta": meta})),
        ("initialize", greeting),
    ] {
        let error = newest.request(method, params)["error"].clone();
        assert_eq!(error["code"], -32601, "{error}");
        let (_, offered) = error["message"].as_str().unwrap().split_once("there are").unwrap();
        assert!(!offered.contains("initialize") && !offered.contains("ping"), "{offered}");
        assert!(offered.contains("`tools/list`") && offered.contains("`tasks/get`"), "{offered}");
    }
}
