//! The store's seam: only a folder of its own knows each database; everything above works with either.

use super::Finding;
use super::tree::Tree;

const STORE: &str = "crates/parallel-llm-store/src/";
/// The folders that know a database each, and the file that imports from them.
const INSIDE: [&str; 3] = ["database/sqlite/", "database/postgres/", "database/interface.rs"];
/// The folder of the statements that every database understands.
const STATEMENTS_INSIDE: &str = "database/sql/";
/// The lines that declare the folders.
const DECLARATIONS: [&str; 2] = ["mod sqlite;", "mod postgres;"];
/// Names of the databases and their libraries, in lower case.
const NAMES: [&str; 3] = ["sqlite", "pragma", "postgres"];
/// The beginnings of SQL statements in string literals.
const STATEMENTS: [&str; 7] =
    ["\"SELECT ", "\"INSERT ", "\"UPDATE ", "\"DELETE ", "\"WITH ", "\"CREATE ", "\"BEGIN"];

pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".rs") {
        let Some(file) = path.strip_prefix(STORE) else { continue };
        if INSIDE.iter().any(|inside| file.starts_with(inside)) {
            continue;
        }
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !DECLARATIONS.contains(line)) {
            let lower = line.to_lowercase();
            let name = NAMES.iter().find(|name| lower.contains(*name));
            let may_state = file.starts_with(STATEMENTS_INSIDE);
            let statement = STATEMENTS.iter().find(|statement| !may_state && line.contains(*statement));
            if let Some(word) = name.or(statement) {
                let text =
                    format!("`{}` belongs in the folder of its database", word.trim_matches(['"', ' ']));
                findings.push(Finding::new(path, index + 1, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    #[test]
    fn a_database_known_above_the_seam_is_found() {
        let path = |file: &str| format!("{STORE}{file}");
        let code = "use rusqlite::Row;\n// As SQLite does.\nfn f() { run(\"SELECT 1\") }\nuse tokio_postgres::Row;\n";
        assert_eq!(
            found(rule, &[(&path("writer/task.rs"), code)]),
            [
                format!("{}:1 `sqlite` belongs in the folder of its database", path("writer/task.rs")),
                format!("{}:2 `sqlite` belongs in the folder of its database", path("writer/task.rs")),
                format!("{}:3 `SELECT` belongs in the folder of its database", path("writer/task.rs")),
                format!("{}:4 `postgres` belongs in the folder of its database", path("writer/task.rs")),
            ]
        );
        let quiet = [
            (path("database/sqlite/runs.rs"), code),
            (path("database/postgres/runs.rs"), code),
            (path("database/interface.rs"), "pub(crate) use super::sqlite::Database;"),
            (path("database/sql/runs.rs"), "fn f() { run(\"SELECT 1\") }"),
            (path("database/mod.rs"), "mod sqlite;"),
            ("crates/parallel-llm-store/tests/story.rs".to_owned(), code),
        ];
        let quiet = quiet.each_ref().map(|(path, code)| (path.as_str(), *code));
        assert_eq!(found(rule, &quiet), [""; 0]);
    }
}
