//! Where the store of a test is: in a file, or in a fresh schema of the server that the environment names. And a connection
//! of the test's own, which reads and changes the tables behind the store's back.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use parallel_llm_store::StoreConfig;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// The variable that moves the whole suite to a server: the address of a database whose schemas are the tests' to make.
const URL: &str = "PARALLEL_LLM_TEST_DATABASE_URL";

/// The server of the tests, if they are to use one.
#[expect(clippy::disallowed_methods, reason = "a test reads what the person running it says")]
pub(crate) fn server() -> Option<String> {
    std::env::var(URL).ok()
}

/// Leaves a test out on a server, and says why it is about the file.
macro_rules! only_in_a_file {
    ($reason:literal) => {
        if crate::support::place::server().is_some() {
            eprintln!("left out on a server: {}", $reason);
            return;
        }
    };
}
pub(crate) use only_in_a_file;

/// Leaves a test out without a server.
macro_rules! only_on_a_server {
    () => {
        if crate::support::place::server().is_none() {
            return;
        }
    };
}
pub(crate) use only_on_a_server;

/// The place of one store.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The file, or a name for the files beside the server.
    pub(crate) path: PathBuf,
    /// The address with the schema.
    pub(crate) url: Option<String>,
}

impl Place {
    /// A place that nobody has used.
    pub(crate) fn fresh(path: impl Into<PathBuf>) -> Self {
        static SCHEMAS: AtomicU32 = AtomicU32::new(0);
        let url = server().map(|base| {
            let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
            let begun = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros();
            let schema = format!("t{}_{number}_{begun}", std::process::id());
            Server::connect(&base).ask(&format!("CREATE SCHEMA {schema}")).unwrap();
            let separator = if base.contains('?') { '&' } else { '?' };
            format!("{base}{separator}options=-csearch_path%3D{schema}")
        });
        Self { path: path.into(), url }
    }

    /// How to open a store there.
    pub(crate) fn config(&self) -> StoreConfig {
        match &self.url {
            None => StoreConfig::new(&self.path),
            Some(url) => StoreConfig::on_server(url.parse().unwrap(), self.path.parent().unwrap()),
        }
    }

    /// A connection of the test's own.
    pub(crate) fn connect(&self) -> Raw {
        match &self.url {
            None => Raw::File(Connection::open(&self.path).unwrap()),
            Some(url) => Raw::Server(Server::connect(url)),
        }
    }

    /// The place in words for another process.
    pub(crate) fn to_words(&self) -> String {
        format!("{} {}", self.url.as_deref().unwrap_or("-"), self.path.display())
    }

    /// The place that another process has named.
    pub(crate) fn of_words(words: &str) -> Self {
        let (url, path) = words.split_once(' ').unwrap();
        Self { path: path.into(), url: Some(url.to_owned()).filter(|url| url != "-") }
    }

    /// Whether a text is in any of the files, or in any row on the server.
    pub(crate) fn holds(&self, text: &str) -> bool {
        if self.url.is_none() {
            return super::holds(&super::bytes_of(self.path.parent().unwrap()), text);
        }
        let connection = self.connect();
        let hex = text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let tables = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::REGNAMESPACE";
        let tables: Vec<String> = values(&connection, tables);
        tables.iter().any(|table| {
            let rows: Vec<String> = values(&connection, &format!("SELECT row::TEXT FROM {table} AS row"));
            rows.iter().any(|row| row.contains(text) || row.contains(&hex))
        })
    }

    /// The folder for spilled answers.
    pub(crate) fn spill_folder(&self) -> PathBuf {
        if self.url.is_none() {
            let mut name = self.path.clone().into_os_string();
            name.push(".spill");
            return name.into();
        }
        let id: String = value(&self.connect(), "SELECT database_id FROM parallel_llm_meta");
        let name = blake3::hash(id.as_bytes()).to_hex();
        self.path.parent().unwrap().join(format!("spill-{}", &name[..16]))
    }
}

impl From<&Path> for Place {
    fn from(path: &Path) -> Self {
        Self { path: path.to_owned(), url: None }
    }
}

/// A connection to the tables.
pub(crate) enum Raw {
    File(Connection),
    Server(Server),
}

/// The rows of a query as text; `None` for null.
pub(crate) type Rows = Vec<Vec<Option<String>>>;

impl Raw {
    /// Executes statements without parameters.
    pub(crate) fn execute_batch(&self, sql: &str) -> Result<(), String> {
        match self {
            Self::File(connection) => connection.execute_batch(sql).map_err(|cause| cause.to_string()),
            Self::Server(server) => server.ask(sql).map(drop),
        }
    }

    /// Executes a statement with a value for each `?`, and returns how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, values: &[&dyn std::fmt::Display]) -> Result<usize, String> {
        let mut parts = sql.split('?');
        let mut whole = parts.next().unwrap().to_owned();
        for (value, part) in values.iter().zip(parts) {
            whole.push_str(&format!("'{value}'{part}"));
        }
        match self {
            Self::File(connection) => connection.execute(&whole, ()).map_err(|cause| cause.to_string()),
            Self::Server(server) => server.ask(&whole).map(|(_, changed)| changed as usize),
        }
    }

    /// Keeps everybody else from writing, until `ROLLBACK` or `COMMIT`; all may read.
    pub(crate) fn lock(&self) {
        let sql = match self {
            Self::File(_) => "BEGIN IMMEDIATE",
            Self::Server(_) => "BEGIN; LOCK TABLE runs, events, texts IN EXCLUSIVE MODE",
        };
        self.execute_batch(sql).unwrap();
    }

    /// Lets an operation such as `UPDATE` on a table fail for the rows of which this holds, until [`Raw::repair`].
    pub(crate) fn refuse(&self, operation: &str, table: &str, condition: &str) {
        let when = format!("BEFORE {operation} ON {table}");
        let sql = match self {
            Self::File(_) => format!(
                "CREATE TRIGGER refuse {when} WHEN {condition} BEGIN SELECT RAISE(ABORT, 'no room'); END"
            ),
            Self::Server(_) => format!(
                "CREATE OR REPLACE FUNCTION refuse() RETURNS TRIGGER LANGUAGE plpgsql AS \
                 $$ BEGIN RAISE EXCEPTION 'no room'; END $$; \
                 CREATE TRIGGER refuse {when} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION refuse()"
            ),
        };
        self.execute_batch(&sql).unwrap();
    }

    /// Ends what [`Raw::refuse`] began.
    pub(crate) fn repair(&self, table: &str) {
        let sql = match self {
            Self::File(_) => "DROP TRIGGER refuse".to_owned(),
            Self::Server(_) => format!("DROP TRIGGER refuse ON {table}"),
        };
        self.execute_batch(&sql).unwrap();
    }
}

impl Query for Raw {
    fn rows(&self, sql: &str) -> Rows {
        match self {
            Self::Server(server) => server.ask(sql).unwrap().0,
            Self::File(connection) => connection.rows(sql),
        }
    }
}

impl Query for Connection {
    fn rows(&self, sql: &str) -> Rows {
        let mut statement = self.prepare(sql).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map((), |row| {
            Ok((0..columns).map(|column| text_of(row.get_ref(column).unwrap())).collect())
        });
        rows.unwrap().map(Result::unwrap).collect()
    }
}

fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// A value read as text.
pub(crate) trait FromText {
    fn from_text(text: Option<&str>) -> Self;
}

impl FromText for String {
    fn from_text(text: Option<&str>) -> Self {
        text.unwrap().to_owned()
    }
}

impl FromText for i64 {
    fn from_text(text: Option<&str>) -> Self {
        text.unwrap().parse().unwrap()
    }
}

impl FromText for bool {
    fn from_text(text: Option<&str>) -> Self {
        matches!(text.unwrap(), "1" | "t")
    }
}

impl<T: FromText> FromText for Option<T> {
    fn from_text(text: Option<&str>) -> Self {
        text.map(|text| T::from_text(Some(text)))
    }
}

/// Something to ask.
pub(crate) trait Query {
    /// All rows of a query.
    fn rows(&self, sql: &str) -> Rows;
}

/// The only value that a query returns.
pub(crate) fn value<T: FromText>(connection: &impl Query, sql: &str) -> T {
    T::from_text(connection.rows(sql)[0][0].as_deref())
}

/// The values of a query's first column.
pub(crate) fn values<T: FromText>(connection: &impl Query, sql: &str) -> Vec<T> {
    connection.rows(sql).iter().map(|row| T::from_text(row[0].as_deref())).collect()
}

/// A statement, and where its answer goes.
type Asked = (String, mpsc::SyncSender<Result<(Rows, u64), String>>);

/// A connection to a server, on a thread with a runtime of its own: tests ask from theirs.
pub(crate) struct Server {
    asks: mpsc::SyncSender<Asked>,
}

impl Server {
    pub(crate) fn connect(url: &str) -> Self {
        let (asks, asked) = mpsc::sync_channel::<Asked>(1);
        let url = url.to_owned();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let (client, connection) = runtime.block_on(tokio_postgres::connect(&url, NoTls)).unwrap();
            runtime.handle().spawn(connection);
            for (sql, answer) in asked {
                let done = runtime.block_on(client.simple_query(&sql));
                let done = done.map(rows_of).map_err(|cause| format!("{cause:?}"));
                answer.send(done).unwrap();
            }
        });
        Self { asks }
    }

    /// The rows of statements, and how many rows the last one changed.
    pub(crate) fn ask(&self, sql: &str) -> Result<(Rows, u64), String> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.asks.send((sql.to_owned(), answer)).unwrap();
        answered.recv().unwrap()
    }
}

fn rows_of(messages: Vec<SimpleQueryMessage>) -> (Rows, u64) {
    let (mut rows, mut changed) = (Rows::new(), 0);
    for message in messages {
        match message {
            SimpleQueryMessage::Row(row) => {
                rows.push((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect());
            }
            SimpleQueryMessage::CommandComplete(count) => changed = count,
            _ => {}
        }
    }
    (rows, changed)
}
