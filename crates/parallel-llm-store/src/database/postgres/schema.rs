//! Finds what is added to our tables and changes what is written to them.
//!
//! Only that: the schema may have tables of others, and the server's administrator may add indexes.

use crate::database::sql::parts::session::Reader;
use crate::system::error::DatabaseError;
use crate::upkeep::inspection;

/// Triggers, rules and policies on our tables. We make none.
const ADDED: &str = "
    SELECT 'trigger', tgname::TEXT, tgrelid FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'rule', rulename::TEXT, ev_class FROM pg_rewrite WHERE rulename <> '_RETURN'
    UNION ALL SELECT 'policy', polname::TEXT, polrelid FROM pg_policy";
/// Our tables.
const TABLES: &str = "'batch_jobs', 'batches', 'calls', 'counted_runs', 'events', 'holds', 'parallel_llm_meta', 'pieces', \
     'run_counts', 'runs', 'seats', 'texts', 'tokens', 'words'";

/// What does not belong to our tables, in words.
pub(super) fn differences(reader: &Reader<'_>) -> Result<Vec<String>, DatabaseError> {
    let sql = format!(
        "SELECT kind, added.name, relname::TEXT FROM ({ADDED}) AS added (kind, name, relation) \
         JOIN pg_class ON pg_class.oid = relation \
         WHERE relnamespace = current_schema()::REGNAMESPACE AND relname IN ({TABLES}) ORDER BY 1, 2, 3"
    );
    reader.session.rows(&sql, &[], |row| {
        let (kind, name, table): (&str, &str, &str) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(inspection::foreign_part(&format!("{kind} `{name}` on `{table}`")))
    })
}
