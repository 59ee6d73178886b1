//! The demo's question, and answers to it written by hand: they agree on the core, one knows something the others do
//! not, one contradicts another, and one is weaker.

/// A question that every engineer has met, and to which good answers differ.
pub const QUESTION: &str =
    "Our nightly job sometimes charges a customer twice. How should we make it safe to retry?";

/// Clear and complete: the one the others agree with.
const SOL: &str = "Give every charge an identity of its own, and let that identity decide whether money moves.

1. Derive an idempotency key from the business fact: customer id plus billing period. A random value or the time of \
    the run would give a retry a new key.
2. Insert a row with that key into a charges table with a unique constraint, in state `pending`, before calling the \
    payment provider. If the row exists already, read its state instead of charging.
3. Send the same idempotency key to the payment provider.
4. When the provider answers, set the row to `charged` or `failed`.
5. On the next run, pick up the `pending` rows and repeat the call with the same key.

Keep your own charges table as the record of what was paid; the provider's dashboard is a second opinion. Then test it: \
    kill the job between call and update, run it again, and check that the customer was charged once.";

/// Knows what nobody else says: providers forget keys.
const OPUS: &str = "The double charge comes from one gap: the job charges, then dies before it writes down that it did. \
    Close the gap by writing the intention first.

Create the charge row before the call, with a unique constraint on customer and billing period, and derive the \
    idempotency key from those two values, so that a retry sends the same key to the payment provider. A timeout is \
    not a failure, because the charge may have gone through. Mark it `unknown` and ask the provider what happened to \
    that key.

One trap is easy to miss: payment providers forget idempotency keys, often after 24 hours, so a nightly job that \
    retries the next night with the same key can charge the customer twice after all. Your own unique row is what \
    protects you then.

What I cannot see from here is whether two copies of the job can overlap. If they can, the unique constraint still \
    holds, while a lock alone would not.";

/// Weaker: general advice, and a lock that is trusted too much.
const ARGON: &str = "To make the nightly job safe to retry, it should be idempotent, which means that running it twice \
    has the same effect as running it once.

Use an idempotency key for each customer and billing period, and store it with a unique constraint. Take a distributed \
    lock at the start of the job, so that one copy runs at a time; a lock alone is enough for most teams. Where \
    available, use a queue with exactly-once delivery. Retry with exponential backoff. Add logging, monitoring and \
    alerts, so that problems are noticed early. Finally, document the process and review it regularly with everyone \
    involved.";

/// Contradicts the first: no table of your own.
const GROK: &str = "Make the second charge impossible, not unlikely.

Build the idempotency key from customer id and billing period, and send the same key with every call to the payment \
    provider. Same key, same charge: the provider returns the first result instead of charging again. You do not need \
    your own charges table for this; the provider's dashboard is the record of what was paid, and a second record only \
    drifts. If a call times out, retry it at once with the same key. Cap the retries at three, and put the rest in front \
    of a human in the morning.

While you are at it, stop running this at midnight: month ends and clock changes are where duplicates hide.";

/// Thinks of the money that was taken already.
const PRO: &str = "There are two problems here: preventing new double charges, and finding the ones that were made \
    already.

Prevention. In one database transaction, insert the charge into a charges table with a unique constraint on customer \
    and billing period, together with an outbox entry. A worker reads the outbox, calls the payment provider with an \
    idempotency key derived from the same two values, and stores the provider's charge id. If the worker dies, the \
    entry is still there and the retry sends the same key.

Detection. Every morning, compare your charges table with the provider's settlement report in both directions, and \
    refund the duplicates it shows. Run this comparison over the past year before you ship anything; it tells you how \
    many customers are owed money today.

A lock around the job is useful for load, but correctness should not depend on it.";

/// What the smaller models agree on.
const CORE: &str = "Derive an idempotency key from the customer and the billing period, store it in a charges table \
    with a unique constraint before calling the payment provider, and send the same key on every retry.";

/// The five full answers.
const FULL: &[(&str, &str)] = &[
    ("openai/gpt-6.1-sol", SOL),
    ("anthropic/claude-opus-5.5", OPUS),
    ("google/gemini-4-argon", ARGON),
    ("x-ai/grok-4.7", GROK),
    ("deepseek/deepseek-v4-pro-0813", PRO),
];

/// What each smaller model adds to the core.
const POINTS: &[(&str, &str)] = &[
    (
        "openai/gpt-6.1-terra",
        "Write the state change and the receipt e-mail in one transaction, or the customer hears of a charge that was rolled back.",
    ),
    (
        "openai/gpt-6-luna",
        "Log the key with every attempt, so that support can follow one charge through all retries.",
    ),
    (
        "openai/gpt-oss-120b",
        "A `SELECT` before the `INSERT` is no protection, because two workers can both find nothing.",
    ),
    (
        "anthropic/claude-sonnet-5.5",
        "Include the amount in the row, and refuse a retry whose amount differs from the first attempt.",
    ),
    (
        "anthropic/claude-haiku-5.5",
        "Claim rows with `FOR UPDATE SKIP LOCKED` if several workers share the list.",
    ),
    ("google/gemini-3.8-flash", "Keep the batch small, so that a crash leaves few rows to look at."),
    ("deepseek/deepseek-v4.1-flash-1017", "Alert when a `pending` row is older than an hour."),
    ("moonshotai/kimi-k3.1-pro", "Give refunds a key of their own, or the repair will double as well."),
    (
        "z-ai/glm-5.3",
        "Listen to the provider's webhooks, and let them settle rows that the job left `pending`.",
    ),
    (
        "qwen/qwen3.8-max-0902",
        "Fix the time zone of the billing period, since a period that shifts makes a second key.",
    ),
    (
        "mistralai/mistral-large-4-0",
        "Let the scheduler start a run only by inserting its date into a table of runs.",
    ),
    ("minimax/minimax-m3", "Retry only what may succeed: a declined card stays declined tonight."),
    ("meta/muse-wonder", "Practise it: replay last night's list in a sandbox and count the charges."),
    (
        "google/gemma-4-31b-it:free",
        "Keep the job's own exit code honest, so that the scheduler does not retry a success.",
    ),
    (
        "nvidia/nemotron-3.5-super-vl:free",
        "Version the key's format, so that a later change cannot produce a second key for an old period.",
    ),
    ("liquid/lfm-2.5-2.6b:free", "Check the balance owed again right before charging."),
];

/// The prepared answer of this model, if the question is the demo's.
pub(crate) fn answer(slug: &str, question: &str) -> Option<String> {
    if !question.contains(QUESTION) {
        return None;
    }
    let of = |table: &[(&str, &'static str)]| {
        table.iter().find(|(known, _)| *known == slug).map(|(_, text)| *text)
    };
    of(FULL).map(str::to_owned).or_else(|| of(POINTS).map(|point| format!("{CORE} {point}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_answers_have_the_length_of_an_answer() {
        for (slug, text) in FULL {
            let words = text.split_whitespace().count();
            assert!((80..=165).contains(&words), "{slug}: {words} words");
        }
    }
}
