//! The store's seam: only one folder knows SQLite; everything above it would work with another database.

use super::Finding;
use super::tree::Tree;

const STORE: &str = "crates/parallel-llm-store/src/";
/// The folder that knows SQLite, and the file that imports from it.
const INSIDE: [&str; 2] = ["sqlite/", "database.rs"];
/// The line that declares the folder.
const DECLARATION: &str = "mod sqlite;";
/// Names of the database and its library, in lower case.
const NAMES: [&str; 2] = ["sqlite", "pragma"];
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
        for (index, line) in text.lines().enumerate().filter(|(_, line)| *line != DECLARATION) {
            let lower = line.to_lowercase();
            let name = NAMES.iter().find(|name| lower.contains(*name));
            let statement = STATEMENTS.iter().find(|statement| line.contains(*statement));
            if let Some(word) = name.or(statement) {
                let text = format!("`{}` belongs in the store's `sqlite/`", word.trim_matches(['"', ' ']));
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
        let code = "use rusqlite::Row;\n// As SQLite does.\nfn f() { run(\"SELECT 1\") }\n";
        assert_eq!(
            found(rule, &[(&path("writer/task.rs"), code)]),
            [
                format!("{}:1 `sqlite` belongs in the store's `sqlite/`", path("writer/task.rs")),
                format!("{}:2 `sqlite` belongs in the store's `sqlite/`", path("writer/task.rs")),
                format!("{}:3 `SELECT` belongs in the store's `sqlite/`", path("writer/task.rs")),
            ]
        );
        let quiet = [
            (path("sqlite/runs.rs"), code),
            (path("database.rs"), "pub(crate) use crate::sqlite::Database;"),
            (path("lib.rs"), "mod sqlite;"),
            ("crates/parallel-llm-store/tests/story.rs".to_owned(), code),
        ];
        let quiet = quiet.each_ref().map(|(path, code)| (path.as_str(), *code));
        assert_eq!(found(rule, &quiet), [""; 0]);
    }
}
