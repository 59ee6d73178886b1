//! The stage `inspector`: the protocol's own inspector on its command line, in every era and on both transports.
//!
//! It validates schemas strictly, calls tools, and gets the offered prompts and resources. In the newest era it supports
//! tasks, if the server answers a call with one.

use std::time::Duration;

use serde_json::Value;

use super::State;
use super::foreign::{self, Packages};
use super::report::Verdict;
use super::setup::{self, FAST, Setup};
use crate::failure::Failure;
use crate::say;

const INSPECTOR: &str = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

const ERAS: [&str; 3] = ["legacy", "auto", "modern"];

/// Time limit of a call, which takes a second.
const CALL_TIME_MAX: Duration = Duration::from_secs(60);

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    let Some(binary) = &state.binary else {
        return Ok(Verdict::Skipped("there is no release binary to ask".to_owned()));
    };
    let packages = match foreign::packages(foreign::CLIENTS) {
        Ok(packages) => packages,
        Err(failure) => return Ok(Verdict::Skipped(format!("the inspector is not available: {failure}"))),
    };
    let setup = Setup::start(binary, "inspector")?;
    let mut wrong = Vec::new();
    for over_http in [false, true] {
        for era in ERAS {
            let transport = setup::transport(over_http);
            match (Inspector { packages: &packages, setup: &setup, over_http, era }).prove() {
                Ok(summary) => say::note(&format!("{era} on {transport}: {summary}")),
                Err(failure) => wrong.push(format!("{era} on {transport}: {failure}")),
            }
        }
    }
    if wrong.is_empty() { Ok(Verdict::Passed) } else { Err(Failure::new(wrong.join("; "))) }
}

/// The inspector with one transport and era.
struct Inspector<'a> {
    packages: &'a Packages,
    setup: &'a Setup,
    over_http: bool,
    era: &'static str,
}

impl Inspector<'_> {
    fn prove(&self) -> Result<String, Failure> {
        let tools = self.items("tools/list", "tools", &["--strict"])?;
        let listed = self.tool("list_models", &["search=grok"])?;
        let question = format!("prompt=Why {} on {}?", self.era, setup::transport(self.over_http));
        let models = format!(r#"models=["{FAST}"]"#);
        let report = self.tool("process_prompt", &[&question, &models])?;
        if listed["models_total"].as_u64() < Some(1) || report["status"] != "complete" {
            return Err(Failure::new(format!("a tool does not answer: {listed} {report}")));
        }
        let prompts = self.items("prompts/list", "prompts", &[])?;
        for prompt in &prompts {
            self.prompt(prompt)?;
        }
        let templates = self.items("resources/templates/list", "resourceTemplates", &[])?;
        let resources = self.items("resources/list", "resources", &[])?;
        if let Some(uri) = resources.first().and_then(|resource| resource["uri"].as_str()) {
            self.ask("resources/read", &["--uri", uri])?;
        }
        let counts =
            [("tools", &tools), ("prompts", &prompts), ("resources", &resources), ("templates", &templates)];
        let counts = counts.map(|(what, items)| format!("{} {what}", items.len()));
        Ok(counts.join(", "))
    }

    /// Gets a prompt, with a value for every required argument.
    fn prompt(&self, prompt: &Value) -> Result<Value, Failure> {
        let name = prompt["name"].as_str().unwrap_or_default();
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        let needed = arguments.filter(|argument| argument["required"] == true);
        let pairs: Vec<String> =
            needed.filter_map(|argument| Some(format!("{}=tea", argument["name"].as_str()?))).collect();
        let mut words = vec!["--prompt-name", name];
        if !pairs.is_empty() {
            words.push("--prompt-args");
            words.extend(pairs.iter().map(String::as_str));
        }
        self.ask("prompts/get", &words)
    }

    /// The structured result of a tool.
    fn tool(&self, name: &str, pairs: &[&str]) -> Result<Value, Failure> {
        let words: Vec<&str> = ["--tool-name", name, "--tool-arg"].iter().chain(pairs).copied().collect();
        let result = self.ask("tools/call", &words)?;
        if result["isError"] == true || !result["structuredContent"].is_object() {
            return Err(Failure::new(format!("`{name}` fails: {result}")));
        }
        Ok(result["structuredContent"].clone())
    }

    fn items(&self, method: &str, key: &str, words: &[&str]) -> Result<Vec<Value>, Failure> {
        let result = self.ask(method, words)?;
        let items = result[key].as_array().cloned();
        items.ok_or_else(|| Failure::new(format!("`{method}` returns no list: {result}")))
    }

    /// The result of a request. Fails on any exit code but 0.
    fn ask(&self, method: &str, words: &[&str]) -> Result<Value, Failure> {
        let mut program = self.packages.script(INSPECTOR).arguments(["--cli"]);
        if self.over_http {
            program = program.arguments([self.setup.url()]);
        } else {
            for (name, value) in &self.setup.environment {
                program = program.arguments(["-e", &format!("{name}={value}")]);
            }
            program = program.arguments(self.setup.pipes());
        }
        let fixed = ["--quiet", "--format", "json", "--protocol-era", self.era, "--method", method];
        let output = program.arguments(fixed).arguments(words).time_limit(CALL_TIME_MAX).output()?;
        let answer: Value = serde_json::from_str(&output)
            .map_err(|error| Failure::new(format!("`{method}` prints no JSON: {error}")))?;
        Ok(answer["result"].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_binary_the_stage_is_skipped() {
        assert!(matches!(run(&mut State::default()), Ok(Verdict::Skipped(_))));
    }
}
