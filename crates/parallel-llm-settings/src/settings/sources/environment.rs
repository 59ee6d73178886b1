//! The only module that reads the environment.
//!
//! All other code receives an [`Environment`], a plain value that tests can build. Invariants: a blank variable counts
//! as unset, and `Debug` shows no values.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy, Xdg};
use parallel_llm_engine::value::next::{Advice, MachineStep, Next, Operation};
use parallel_llm_engine::{Failure, value::nearest};
use parallel_llm_provider::Known;
use secrecy::SecretString;

use super::layer::{Entry, Layer};
use crate::settings::table::{PREFIX, Setting};
use crate::settings::value::command;
use crate::settings::value::failure::invalid;
use crate::settings::value::kind::Value;
use crate::settings::value::origin::Origin;

/// Our folder in XDG's folders.
pub(in crate::settings) const FOLDER: &str = "parallel-llm-mcp";
/// Names a different user file.
pub(super) const CONFIG: &str = "PARALLEL_LLM_CONFIG";
/// Tells a check command the number of the seat. The command may itself call this program.
pub const SEAT: &str = "PARALLEL_LLM_SEAT";

/// The collector's address, for every program.
pub(in crate::settings) const COLLECTOR: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Headers for the collector.
pub(in crate::settings) const COLLECTOR_HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// The name of this service.
pub(in crate::settings) const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
/// Further facts about this service.
pub(in crate::settings) const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";
/// Turns the export off.
pub(in crate::settings) const EXPORT_DISABLED: &str = "OTEL_SDK_DISABLED";
/// The trace in which a command is called.
pub(in crate::settings) const TRACE_PARENT: &str = "TRACEPARENT";
/// What other systems say about that trace.
pub(in crate::settings) const TRACE_STATE: &str = "TRACESTATE";

/// Variables that are read but are not settings, with their descriptions.
pub(in crate::settings) const OTHERS: [(&str, &str); 11] = [
    (CONFIG, "The user file, in place of the one in the XDG configuration folder."),
    ("NO_COLOR", "Set to anything, it turns colours off."),
    ("TERM", "`dumb` turns colours and redrawing off."),
    ("COLUMNS", "The width of the output if the terminal does not report it."),
    (
        COLLECTOR,
        "The collector, if `otlp_endpoint` is not set. One that cannot be used turns the export off.",
    ),
    (
        COLLECTOR_HEADERS,
        "Headers for the collector, such as `authorization=Bearer%20TOKEN`; they are shown nowhere.",
    ),
    (SERVICE_NAME, "The name of this program in traces, in place of its own."),
    (RESOURCE, "Further facts for traces, such as `deployment.environment.name=test`."),
    (EXPORT_DISABLED, "`true` turns the export to a collector off."),
    (TRACE_PARENT, "The trace in which `ask` is called; its run is a part of it."),
    (TRACE_STATE, "What other systems say about that trace."),
];

/// Proxy variables in the HTTP client's order of precedence.
pub(super) const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// Variables that name hosts reached without a proxy.
pub(super) const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Variables that hold the user's name.
pub(super) const USERS: [&str; 2] = ["USER", "LOGNAME"];
/// Variables that determine the text encoding, in order of precedence.
pub(super) const LOCALES: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];

/// Names the folder for temporary files.
const TEMPORARY: &str = "TMPDIR";
/// Variables passed to a check command. None of them holds a key.
const CHECK_VARIABLES: [&str; 5] = ["PATH", "HOME", "LANG", TEMPORARY, ROOT];
/// The Windows folder.
const ROOT: &str = "SystemRoot";

/// The user's standard folders after XDG, the same on every operating system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The user's home.
    pub home: PathBuf,
    /// Configuration files.
    pub config: PathBuf,
    /// Data that must persist.
    pub data: PathBuf,
    /// Data that may be lost, including logs.
    pub state: PathBuf,
}

impl Folders {
    /// XDG's default folders below a home folder.
    pub fn of_home(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        Self {
            config: home.join(".config"),
            data: home.join(".local/share"),
            state: home.join(".local/state"),
            home,
        }
    }
}

/// The variables this program uses, and the user's folders.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
    folders: Option<Folders>,
    /// Whether variables named by the user's file are looked up in the process's environment.
    is_process: bool,
}

impl Environment {
    /// Reads the process's environment.
    pub fn read() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
        let all = std::env::vars_os();
        let variables = all
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
            .filter(|(name, _)| is_ours(name));
        let folders = Xdg::new().ok().map(|xdg| Folders {
            home: xdg.home_dir().to_owned(),
            config: xdg.config_dir(),
            data: xdg.data_dir(),
            state: xdg.state_dir().unwrap_or_else(|| xdg.data_dir()),
        });
        Self { variables: variables.collect(), folders, is_process: true }
    }

    /// An environment with these folders and no variables.
    pub fn with_folders(folders: Folders) -> Self {
        Self { folders: Some(folders), ..Self::default() }
    }

    /// Adds a variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// The user's folders; `None` without a home folder.
    pub const fn folders(&self) -> Option<&Folders> {
        self.folders.as_ref()
    }

    /// Whether colours are turned off.
    pub fn no_color(&self) -> bool {
        self.text("NO_COLOR").is_ok_and(|value| value.is_some())
    }

    /// Whether the terminal cannot redraw a line.
    pub fn is_dumb_terminal(&self) -> bool {
        matches!(self.text("TERM"), Ok(Some("dumb")))
    }

    /// The terminal width, if the variable holds a valid one.
    pub fn columns(&self) -> Option<usize> {
        self.text("COLUMNS").ok()??.parse().ok().filter(|columns| *columns > 0)
    }

    /// A variable without surrounding white space; `None` if it is missing or blank.
    pub(in crate::settings) fn text(&self, name: &str) -> Result<Option<&str>, Failure> {
        let Some(value) = self.variables.get(name) else { return Ok(None) };
        text_of(name, value)
    }

    /// A variable's text; `None` if it is missing or invalid.
    pub(in crate::settings) fn readable(&self, name: &str) -> Option<&str> {
        self.text(name).ok().flatten()
    }

    /// Whether a variable is there and not blank, valid or not.
    pub(in crate::settings) fn is_set(&self, name: &str) -> bool {
        !matches!(self.text(name), Ok(None))
    }

    /// A secret from a variable, which only the user's file may name. Invalid UTF-8 is replaced by characters that no
    /// key has, so that it fails where it is used and nowhere else.
    pub(in crate::settings) fn secret(&self, name: &str) -> Option<SecretString> {
        let value = self.raw(name)?;
        let value = value.to_string_lossy();
        Some(value.trim()).filter(|text| !text.is_empty()).map(SecretString::from)
    }

    /// The raw value of a variable, including ones that only the user's file names.
    pub(super) fn raw(&self, name: &str) -> Option<OsString> {
        match self.variables.get(name) {
            None if self.is_process && !is_ours(name) =>
            {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "this is the one place that reads the environment"
                )]
                std::env::var_os(name)
            }
            value => value.cloned(),
        }
    }

    /// The variables passed to a check command: the search path, home, language, temporary folder, and what Windows
    /// needs to open files.
    pub(in crate::settings) fn check_variables(&self) -> Vec<(&'static str, OsString)> {
        CHECK_VARIABLES.into_iter().filter_map(|name| Some((name, self.raw(name)?))).collect()
    }

    /// The folder for temporary files.
    pub(in crate::settings) fn temporary(&self) -> PathBuf {
        let named = self.raw(TEMPORARY).filter(|folder| !folder.is_empty());
        named.map_or_else(std::env::temp_dir, PathBuf::from)
    }

    /// All settings in the environment.
    pub(in crate::settings) fn layer(&self) -> Result<Layer, Failure> {
        self.check_names()?;
        let mut layer = Layer::default();
        if let Some(entry) = self.standard_collector() {
            layer.set(Setting::OtlpEndpoint, entry);
        }
        for setting in Setting::ALL {
            if let Some(entry) = self.entry(*setting)? {
                layer.set(*setting, entry);
            }
        }
        Ok(layer)
    }

    /// The collector's address from the standard variable, which is for every program, unless it cannot be read.
    fn standard_collector(&self) -> Option<Entry> {
        let setting = Setting::OtlpEndpoint;
        let value = setting.kind().read(setting.name(), self.readable(COLLECTOR)?).ok()?;
        Some(Entry { value, origin: Origin::Environment(COLLECTOR.to_owned()) })
    }

    /// One setting in the environment; `None` if it is not set.
    pub(in crate::settings) fn entry(&self, setting: Setting) -> Result<Option<Entry>, Failure> {
        let variable = setting.variable();
        let Some(text) = self.text(&variable)? else { return Ok(None) };
        let value = setting.kind().read(setting.name(), text);
        let value = value.and_then(|value| whole_program(setting, value));
        let value = value.map_err(|failure| {
            crate::settings::value::failure::at(&format!("environment {variable}"), failure)
        })?;
        Ok(Some(Entry { value, origin: Origin::Environment(variable) }))
    }

    /// Refuses a variable with our prefix that is not a setting, since it would have no effect.
    fn check_names(&self) -> Result<(), Failure> {
        for name in self.variables.keys() {
            let Some(rest) = name.strip_prefix(PREFIX) else { continue };
            let is_known = [CONFIG, SEAT].contains(&name.as_str())
                || Setting::ALL.iter().any(|setting| setting.variable() == *name);
            if is_known || self.text(name)?.is_none() {
                continue;
            }
            let failure = invalid(format!("environment {name}: there is no such setting")).with_next([
                MachineStep::UnsetVariable(name.clone().into()).into(),
                Next::Use(Operation::ShowSettings),
            ]);
            // All variables share the prefix, so only the rest is compared.
            let meant = nearest::nearest(rest, Setting::names().chain(["config"])).map(variable_of);
            return Err(nearest::suggest(failure, meant));
        }
        Ok(())
    }
}

/// Refuses a program with a relative path: a variable applies in every folder, and the program there could be a stranger's.
fn whole_program(setting: Setting, value: Value) -> Result<Value, Failure> {
    match &value {
        Value::Command(words) if command::is_path(&words[0]) => {
            let program = Path::new(&words[0]);
            if program.is_absolute() || program.starts_with("~") {
                return Ok(value);
            }
            let message = format!("`{}` names a program that counts from the current folder", setting.name());
            Err(invalid(message).with_next(Advice::WritePathOrName))
        }
        _ => Ok(value),
    }
}

impl fmt::Debug for Environment {
    /// Shows names only, since values may be keys.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("folders", &self.folders)
            .field("is_process", &self.is_process)
            .finish()
    }
}

/// The variable that every process needs on Windows, because no connection can be opened without it.
pub fn system_root() -> Option<(&'static str, OsString)> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    std::env::var_os(ROOT).map(|value| (ROOT, value))
}

fn text_of<'a>(name: &str, value: &'a OsString) -> Result<Option<&'a str>, Failure> {
    let text = value.to_str().ok_or_else(|| {
        invalid(format!("environment {name}: the value is not valid UTF-8"))
            .with_next(MachineStep::SetVariable(name.to_owned().into()))
    })?;
    Ok(Some(text.trim()).filter(|text| !text.is_empty()))
}

/// The variable of a setting, or of `config`.
fn variable_of(name: &str) -> String {
    Setting::by_name(name).map_or_else(|| CONFIG.to_owned(), Setting::variable)
}

/// Whether the variable has a purpose other than holding a key.
pub(in crate::settings) fn is_reserved(name: &str) -> bool {
    name.starts_with(PREFIX)
        || OTHERS.iter().any(|(other, _)| *other == name)
        || Known::ALL.iter().any(|known| known.base_url_variable == name)
}

/// Whether this program or one of its libraries reads a variable that does not hold a key.
pub fn is_known_variable(name: &str) -> bool {
    const BELOW: [&str; 8] = [
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "HOME",
        "PATH",
        "APPDATA",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    ];
    let is_setting = || Setting::ALL.iter().any(|setting| setting.variable() == name);
    let is_other = || is_ours(name) && !name.starts_with(PREFIX);
    name == CONFIG || BELOW.contains(&name) || CHECK_VARIABLES.contains(&name) || is_setting() || is_other()
}

fn is_ours(name: &str) -> bool {
    is_reserved(name) || Known::ALL.iter().any(|known| known.key_variable == name) || is_host_info(name)
}

/// Whether a variable belongs to [`HostInfo`](crate::settings::HostInfo).
fn is_host_info(name: &str) -> bool {
    let groups: [&[&str]; 4] = [&PROXIES, &EXCEPTIONS, &USERS, &LOCALES];
    groups.iter().any(|group| group.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_describes_the_terminal() {
        let with = |name: &str, value: &str| Environment::default().with(name, value);
        assert!(with("NO_COLOR", "1").no_color() && !with("NO_COLOR", "").no_color());
        assert!(with("TERM", "dumb").is_dumb_terminal() && !with("TERM", "xterm").is_dumb_terminal());
        let columns = ["100", "0", "wide"].map(|text| with("COLUMNS", text).columns());
        assert_eq!(columns, [Some(100), None, None]);
    }

    #[test]
    fn debug_shows_names_only() {
        let environment = Environment::default().with("OPENROUTER_API_KEY", "sk-or-secret");
        let shown = format!("{environment:?}");
        assert!(shown.contains("OPENROUTER_API_KEY") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn only_what_concerns_us_is_kept() {
        assert!(is_ours("PARALLEL_LLM_ANYTHING") && is_ours("OPENROUTER_BASE_URL") && is_ours("NO_COLOR"));
        assert!(is_ours("MISTRAL_API_KEY") && !is_reserved("MISTRAL_API_KEY"));
        assert!(!is_ours("PATH") && !is_ours("AWS_SECRET_ACCESS_KEY"));
    }
}
