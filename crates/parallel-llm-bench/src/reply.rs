//! The replies of the upstream: a short event stream in OpenRouter's format, constant except for the code of a synthesis.

use serde_json::json;

/// The answer of a seat in its pieces.
const ANSWER: [&str; 6] = [
    "Yes, with two conditions. ",
    "Create the index concurrently, so that writers are not held up, ",
    "and set a lock timeout, so that a long transaction cannot queue everybody behind you.\n\n",
    "Afterwards check that the index is valid: ",
    "a build that was interrupted leaves one that costs writes and serves no reads. ",
    "Drop it and begin again in that case.",
];
/// The text before the code of a synthesis in its prompt.
const MARKER: &str = "<<analysis ";
/// The structured part of a synthesis.
const ANALYSIS: &str = r#"{"claims":[{"text":"create it concurrently","supported_by":["A","B"],"contradicted_by":[],"verdict":"kept","reason":"it holds"}],"dissent":[],"discarded":[],"suspected_injection":[],"base":"A"}"#;

/// The code in the prompt of a synthesis; `None` for the call of a seat.
pub fn nonce(request: &str) -> Option<&str> {
    let (_, after) = request.split_once(MARKER)?;
    after.split_once(">>").map(|(nonce, _)| nonce)
}

/// The whole response to a request, head and body.
pub fn response(nonce: Option<&str>) -> Vec<u8> {
    let body = match nonce {
        None => events(ANSWER.iter().map(ToString::to_string)),
        Some(nonce) => {
            let form =
                [format!("{MARKER}{nonce}>>\n"), ANALYSIS.to_owned(), format!("\n<<answer {nonce}>>\n")];
            events(form.into_iter().chain(ANSWER.iter().map(ToString::to_string)))
        }
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked";
    format!("{head}\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).into_bytes()
}

fn events(pieces: impl Iterator<Item = String>) -> String {
    let piece = |text: String| {
        event(
            &json!([{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": null}]),
            None,
        )
    };
    let mut body = String::from(": OPENROUTER PROCESSING\n\n");
    body.extend(pieces.map(piece));
    body.push_str(&event(&json!([{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}]), None));
    let usage = json!({"prompt_tokens": 60, "completion_tokens": 80, "total_tokens": 140, "cost": 0.000_832});
    body.push_str(&event(&json!([]), Some(&usage)));
    body + "data: [DONE]\n\n"
}

fn event(choices: &serde_json::Value, usage: Option<&serde_json::Value>) -> String {
    let mut chunk = json!({
        "id": "gen-1763640000-benchbenchbench",
        "provider": "Bench",
        "model": "bench/model",
        "object": "chat.completion.chunk",
        "created": 1_763_640_000,
        "choices": choices,
    });
    if let Some(usage) = usage {
        chunk["usage"] = usage.clone();
    }
    format!("data: {chunk}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synthesis_repeats_its_code() {
        let request = r#"{"messages":[{"content":"First the line <<analysis 5eed>> and the"}]}"#;
        assert_eq!(nonce(request), Some("5eed"));
        let response = String::from_utf8(response(nonce(request))).unwrap();
        assert!(response.contains("<<analysis 5eed>>") && response.contains("<<answer 5eed>>"), "{response}");
    }

    #[test]
    fn a_seat_gets_its_answer_in_one_chunk() {
        assert_eq!(nonce("{}"), None);
        let response = String::from_utf8(response(None)).unwrap();
        let (_, chunked) = response.split_once("\r\n\r\n").unwrap();
        let (length, body) = chunked.split_once("\r\n").unwrap();
        let body = body.strip_suffix("\r\n0\r\n\r\n").unwrap();
        assert_eq!(usize::from_str_radix(length, 16), Ok(body.len()));
        assert!(body.ends_with("data: [DONE]\n\n"), "{body}");
    }
}
