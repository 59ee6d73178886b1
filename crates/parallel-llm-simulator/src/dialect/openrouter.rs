//! What is wrong, in OpenRouter's words: each kind is one constructor of `refusal`.

use super::words::{Kind, Trouble};
use crate::odd;
use crate::refusal::{FreePeriod, RateHint, Refusal};
use crate::reply::Reply;

/// The reply that refuses.
pub(super) fn refuse(trouble: &Trouble) -> Reply {
    let case = &trouble.case;
    let refusal = match trouble.kind {
        Kind::KeyMissing | Kind::VersionMissing => Refusal::key_missing(),
        Kind::KeyBad => Refusal::key_unknown(),
        Kind::KeyInQuery => Refusal::bad_order("A key must not stand in the URL. Send it in a header."),
        Kind::BadBody => Refusal::no_input(),
        Kind::NoMessages => Refusal::no_messages(),
        Kind::WrongType | Kind::UnknownField => return odd::zod(Some(&case.reason)),
        Kind::BadModel => Refusal::unknown_model(&case.model),
        Kind::NoModel => Refusal::no_model(),
        Kind::NoEndpoints => Refusal::no_endpoints(&case.model),
        Kind::Context => Refusal::context_exceeded(case.context, case.input, case.output),
        Kind::ReasoningMandatory => Refusal::reasoning_mandatory(),
        Kind::Modality => Refusal::no_modality(&case.reason),
        Kind::Credits => Refusal::credits(case.output, case.affordable),
        Kind::InFlight => Refusal::in_flight(),
        Kind::KeyLimit => Refusal::key_limit(),
        Kind::Moderation => Refusal::moderation(&case.prompt, &case.provider, &case.slug),
        Kind::DataPolicy => Refusal::data_policy(),
        Kind::NoProvider => Refusal::no_provider_allowed(),
        Kind::AllIgnored => Refusal::all_ignored(),
        Kind::TooDear => Refusal::too_dear(),
        Kind::Timeout => Refusal::timed_out(),
        Kind::TooLarge => Refusal::too_large(),
        Kind::Invalid => Refusal::invalid(),
        Kind::Rate => Refusal::rate_upstream(&case.slug, RateHint::None),
        Kind::RateHinted => Refusal::rate_upstream(&case.slug, RateHint::InBody { seconds: 1 }),
        Kind::RateDay => Refusal::rate_free(FreePeriod::Day, case.limit, case.reset_unix_ms),
        Kind::RateMinute => Refusal::rate_free(FreePeriod::Minute, case.limit, case.reset_unix_ms),
        Kind::Server => Refusal::server_error(),
        Kind::BadGateway => Refusal::bad_gateway(),
        Kind::Unavailable => Refusal::unavailable(),
        Kind::Overloaded => Refusal::overloaded(),
        Kind::KeyEcho => Refusal::key_echo(&case.key),
        Kind::NotFound => Refusal::not_found(),
        Kind::Order => Refusal::bad_order(&case.reason),
    };
    refusal.reply()
}
