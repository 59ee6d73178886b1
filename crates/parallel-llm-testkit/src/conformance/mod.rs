//! What the protocol's conformance suite expects of a server: one handler, a file per group of fixtures.
//!
//! The suite is a third-party package (npm, `@modelcontextprotocol/conformance`) that only speaks HTTP.
//! `src/bin/conformance-server.rs` serves its fixtures over the same listener and transport as the product's own
//! handler, so that it tests the product's stack. A fixture answers as its scenario describes and remembers only
//! subscriptions and tasks.

#![expect(deprecated, reason = "sampling and logging are deprecated, and the suite asks for both")]

mod content;
mod input;
mod listeners;
mod prompts;
mod resources;
mod talk;
mod tasks;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams,
    CompleteRequestParams, CompleteResult, CompletionInfo, GetPromptRequestParams, GetPromptResponse,
    GetTaskParams, GetTaskResult, Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use listeners::Listeners;
use tasks::Tasks;

/// How long a list may be cached; the suite expects a number and a scope on each.
const LIST_TTL_MS: u64 = 60_000;

/// The smallest picture: one pixel, as PNG in base64.
const PIXEL_PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==";

/// The fixtures. Clones share subscriptions and tasks, so that one can be made for each connection.
#[derive(Clone)]
pub struct Fixtures {
    listeners: Listeners,
    flows: input::Flows,
    tasks: Tasks,
}

/// A tool without arguments.
struct Row {
    name: &'static str,
    description: &'static str,
}

/// The result of a call: a result, a question, a task, or a protocol error.
type Called = Result<CallToolResponse, ErrorData>;

impl Fixtures {
    /// Fixtures without subscriptions or tasks.
    pub fn new() -> Self {
        Self { listeners: Listeners::default(), flows: input::Flows::new(), tasks: Tasks::default() }
    }
}

impl Default for Fixtures {
    fn default() -> Self {
        Self::new()
    }
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("conformance-fixtures", env!("CARGO_PKG_VERSION")))
    }

    /// The transport compares headers with this schema.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        content::tools().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = content::tools().chain(talk::tools()).chain(input::tools()).chain(tasks::tools());
        let tools = ListToolsResult::with_all_items(tools.collect());
        Ok(tools.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Called {
        let arguments = request.arguments.clone().unwrap_or_default();
        if let Some(called) = content::call(&request.name, &arguments) {
            return called;
        }
        if let Some(called) = self.flows.call(&request, &context) {
            return called;
        }
        if let Some(called) = self.tasks.call(&request, &context).await {
            return called;
        }
        let called = talk::call(&request.name, &arguments, &context, &self.listeners).await;
        called.unwrap_or_else(|| Err(ErrorData::invalid_params("there is no such tool", None)))
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = ListPromptsResult::with_all_items(prompts::all());
        Ok(prompts.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request, &context)
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = ListResourcesResult::with_all_items(resources::all());
        Ok(resources.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = ListResourceTemplatesResult::with_all_items(resources::templates());
        Ok(templates.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = resources::read(&request.uri)?;
        Ok(read.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Public).into())
    }

    /// The scenario accepts any completion, also none.
    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let known = ["paris", "park", "party"].into_iter();
        let fitting = known.filter(|word| word.starts_with(&request.argument.value)).map(str::to_owned);
        let values = CompletionInfo::with_all_values(fitting.collect());
        values.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.listeners.keep(&context).await;
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks.get(&request)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.update(request)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel(&request)
    }
}

impl Row {
    /// The tool, without arguments.
    fn tool(&self) -> Tool {
        tool(self.name, self.description, json!({"type": "object", "properties": {}}))
    }
}

/// A tool with this schema, which must be an object.
fn tool(name: &'static str, description: &'static str, schema: Value) -> Tool {
    Tool::new(name, description, read::<JsonObject>(schema))
}

/// A result with one text.
fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![rmcp::model::ContentBlock::text(text.into())])
}

/// Parses JSON that is written in this crate, so it is valid.
fn read<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).expect("a fixture is what its scenario describes")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_fixture_can_be_read_and_has_a_name_of_its_own() {
        let tools = content::tools().chain(talk::tools()).chain(input::tools()).chain(tasks::tools());
        let tools: Vec<String> = tools.map(|tool| tool.name.into_owned()).collect();
        assert_eq!(tools.iter().collect::<BTreeSet<_>>().len(), tools.len(), "{tools:?}");
        for tool in &tools {
            if let Some(called) = content::call(tool, &JsonObject::new()) {
                assert!(matches!(called, Ok(CallToolResponse::Complete(_))), "{tool}");
            }
        }
        assert_eq!(prompts::all().len(), 5);
        for resource in resources::all() {
            resources::read(&resource.uri).unwrap();
        }
        assert!(resources::read("test://template/7/data").is_ok());
        assert!(resources::read("test://nothing").is_err());
    }

    #[test]
    fn only_what_a_client_can_answer_is_asked() {
        let keys = ["user_name", "greeting", "client_roots"];
        let asked = |can: Value| {
            let asked = input::ask(&keys, None, &read(can)).input_requests.unwrap_or_default();
            asked.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(asked(json!({})), [] as [String; 0]);
        assert_eq!(asked(json!({"elicitation": {}})), ["user_name"]);
        assert_eq!(asked(json!({"sampling": {}, "roots": {}})), ["client_roots", "greeting"]);
    }
}
