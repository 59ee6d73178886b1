//! What a call cost, as a router's `GET /generation` reports it afterwards.

use parallel_llm_engine::port::Charge;
use parallel_llm_engine::{Code, Failure, Usage};

use crate::wire::loose;
use crate::wire::model::Fields;

/// Reads the document about the call with this id; `None` if it does not give a cost. Prefers the model's own token
/// counts, by which it is billed, to the router's.
pub(crate) fn read(body: &[u8], generation_id: &str) -> Result<Option<Charge>, Failure> {
    let strange = |what: &str| {
        let message = format!("the account of the call cannot be understood: {what}");
        Failure::new(Code::Protocol, message)
    };
    let envelope: Option<Fields<'_>> = serde_json::from_slice(body.trim_ascii()).ok();
    let data: Option<Fields<'_>> = envelope.and_then(|it| serde_json::from_str(it.get("data")?.get()).ok());
    let data = data.ok_or_else(|| strange("it is no object with `data`"))?;
    if data.text(&["id"]).is_some_and(|id| id != generation_id) {
        return Err(strange("it is about another call"));
    }
    let Some(cost) = data.get("total_cost") else { return Ok(None) };
    let cost = loose::usd(Some(cost)).ok_or_else(|| strange("`total_cost` is no amount of money"))?;
    let count = |names: &[&str]| data.first(names, loose::count);
    let usage = Usage {
        input_tokens: count(&["native_tokens_prompt", "tokens_prompt"]),
        output_tokens: count(&["native_tokens_completion", "tokens_completion"]),
        reasoning_tokens: count(&["native_tokens_reasoning"]),
        cached_tokens: count(&["native_tokens_cached"]),
    };
    Ok(Some(Charge { cost, usage }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parallel_llm_engine::PicoUsd;

    fn cost(fields: &str) -> Result<Option<i64>, Code> {
        let body = format!(r#"{{"data":{{"id":"gen-1"{fields}}}}}"#);
        let charge = read(body.as_bytes(), "gen-1").map_err(|failure| failure.code)?;
        Ok(charge.map(|charge| charge.cost.0))
    }

    #[test]
    fn a_charge_has_the_cost_and_the_usage() {
        let body = br#" {"data":{"id":"gen-1","model":"a/b","cancelled":true,"total_cost":0.000832,"usage":0.000832,
            "tokens_prompt":10,"tokens_completion":20,"native_tokens_prompt":12,"native_tokens_completion":25.0,
            "native_tokens_reasoning":5,"native_tokens_cached":0,"provider_name":"x"}} "#;
        let usage = Usage {
            input_tokens: Some(12),
            output_tokens: Some(25),
            reasoning_tokens: Some(5),
            cached_tokens: Some(0),
        };
        assert_eq!(read(body, "gen-1"), Ok(Some(Charge { cost: PicoUsd(832_000_000), usage })));
        let body = br#"{"data":{"total_cost":"0","native_tokens_prompt":null,"tokens_prompt":7}}"#;
        let usage = Usage { input_tokens: Some(7), ..Usage::default() };
        assert_eq!(read(body, "gen-1"), Ok(Some(Charge { cost: PicoUsd::ZERO, usage })));
    }

    #[test]
    fn money_is_read_exactly_or_not_at_all() {
        for (fields, expected) in [
            (r#","total_cost":0.1"#, Ok(Some(100_000_000_000))),
            (r#","total_cost":"0.1""#, Ok(Some(100_000_000_000))),
            (r#","total_cost":1e-7"#, Ok(Some(100_000))),
            (r#","total_cost":null"#, Ok(None)),
            ("", Ok(None)),
            (r#","total_cost":-0.1"#, Err(Code::Protocol)),
            (r#","total_cost":"NaN""#, Err(Code::Protocol)),
            (r#","total_cost":1e300"#, Err(Code::Protocol)),
            (r#","total_cost":"""#, Err(Code::Protocol)),
            (r#","total_cost":{}"#, Err(Code::Protocol)),
        ] {
            assert_eq!(cost(fields), expected, "{fields}");
        }
    }

    #[test]
    fn a_document_that_is_no_charge_of_this_call_is_refused() {
        for body in [
            "",
            "<html>",
            "7",
            "[]",
            r#"{"data":null}"#,
            r#"{"data":[1]}"#,
            r#"{"data":{"id":"gen-2","total_cost":1}}"#,
            r#"{"data":{"total_cost":1"#,
        ] {
            assert_eq!(read(body.as_bytes(), "gen-1").unwrap_err().code, Code::Protocol, "{body}");
        }
    }
}
