//! What is wrong, in OpenRouter's words: each kind is one constructor of `refusal`.

use super::error_text::{ErrorKind, Trouble};
use crate::odd;
use crate::refusal::{FreePeriod, RateHint, Refusal};
use crate::reply::Reply;

/// The reply that refuses.
pub(super) fn refuse(trouble: &Trouble) -> Reply {
    let case = &trouble.case;
    let refusal = match trouble.kind {
        ErrorKind::KeyMissing | ErrorKind::VersionMissing => Refusal::key_missing(),
        ErrorKind::KeyBad => Refusal::key_unknown(),
        ErrorKind::KeyInQuery => Refusal::bad_order("A key must not stand in the URL. Send it in a header."),
        ErrorKind::BadBody => Refusal::no_input(),
        ErrorKind::NoMessages => Refusal::no_messages(),
        ErrorKind::WrongType | ErrorKind::UnknownField => return odd::zod(Some(&case.reason)),
        ErrorKind::BadModel => Refusal::unknown_model(&case.model),
        ErrorKind::NoModel => Refusal::no_model(),
        ErrorKind::NoEndpoints => Refusal::no_endpoints(&case.model),
        ErrorKind::Context => Refusal::context_exceeded(case.context, case.input, case.output),
        ErrorKind::ReasoningMandatory => Refusal::reasoning_mandatory(),
        ErrorKind::Modality => Refusal::no_modality(&case.reason),
        ErrorKind::Credits => Refusal::credits(case.output, case.affordable),
        ErrorKind::InFlight => Refusal::in_flight(),
        ErrorKind::KeyLimit => Refusal::key_limit(),
        ErrorKind::Moderation => Refusal::moderation(&case.prompt, &case.provider, &case.slug),
        ErrorKind::DataPolicy => Refusal::data_policy(),
        ErrorKind::NoProvider => Refusal::no_provider_allowed(),
        ErrorKind::AllIgnored => Refusal::all_ignored(),
        ErrorKind::TooDear => Refusal::too_dear(),
        ErrorKind::Timeout => Refusal::timed_out(),
        ErrorKind::TooLarge => Refusal::too_large(),
        ErrorKind::Invalid => Refusal::invalid(),
        ErrorKind::Rate => Refusal::rate_upstream(&case.slug, RateHint::None),
        ErrorKind::RateHinted => Refusal::rate_upstream(&case.slug, RateHint::InBody { seconds: 1 }),
        ErrorKind::RateDay => Refusal::rate_free(FreePeriod::Day, case.limit, case.reset_unix_ms),
        ErrorKind::RateMinute => Refusal::rate_free(FreePeriod::Minute, case.limit, case.reset_unix_ms),
        ErrorKind::Server => Refusal::server_error(),
        ErrorKind::BadGateway => Refusal::bad_gateway(),
        ErrorKind::Unavailable => Refusal::unavailable(),
        ErrorKind::Overloaded => Refusal::overloaded(),
        ErrorKind::KeyEcho => Refusal::key_echo(&case.key),
        ErrorKind::NotFound => Refusal::not_found(),
        ErrorKind::Order => Refusal::bad_order(&case.reason),
    };
    refusal.reply()
}
