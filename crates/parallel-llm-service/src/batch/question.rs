//! The stored form of a job's question.

use parallel_llm_engine::request::BatchLine;
use parallel_llm_engine::{Code, Failure, RunRequest};
use parallel_llm_store::ClaimedJob;
use serde::{Deserialize, Serialize};

use crate::ask::Question;

/// The version of the stored form.
const VERSION: u32 = 1;

/// A question as it is stored until it is asked. Older versions are read for ever.
#[derive(Debug, Serialize, Deserialize)]
struct StoredQuestion {
    version: u32,
    request: RunRequest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
}

/// A question in its stored form.
pub(super) fn stored(question: &Question) -> String {
    let stored = StoredQuestion {
        version: VERSION,
        request: question.request.clone(),
        preset: question.preset.clone(),
    };
    serde_json::to_string(&stored).expect("a request is plain data with string keys")
}

/// The question of a job, under a key of its own. Fails if a newer version of the program wrote it.
pub(super) fn of_job(job: &ClaimedJob) -> Result<Question, Failure> {
    let unreadable = |cause: &dyn std::fmt::Display| {
        Failure::new(Code::Damaged, format!("the stored question cannot be read: {cause}"))
    };
    let stored: StoredQuestion = serde_json::from_str(&job.request).map_err(|cause| unreadable(&cause))?;
    if stored.version > VERSION {
        return Err(unreadable(&"a newer version of this program wrote it"));
    }
    let StoredQuestion { mut request, preset, .. } = stored;
    let (id, line) = (job.claim.batch_id, job.claim.line);
    request.idempotency_key = Some(format!("batch:{id}:{line}"));
    request.lineage.batch = Some(BatchLine { id, line });
    Ok(Question { request, preset, ..Question::default() })
}
