//! Orders to a model or a program that reads an answer: a name for such a reader near what it is told to do.
//!
//! Answers about models and agents speak of both, so a question about them asks for it.

use std::sync::LazyLock;

use super::phrases::{Pair, Verbs, is_near, pair};

/// Readers and orders, mostly one row per language.
const ORDERS: &[Pair] = &[
    pair(
        &[
            "ai agent",
            "ai assistant",
            "ai model",
            "ai reader",
            "the ai that",
            "llm note",
            "llm-note",
            "llm-as-",
            "language model that",
            "assistant reading",
            "assistant that reads",
            "assistant polishes",
            "model reading",
            "model composing",
            "model that merges",
            "model that combines",
            "model that decides",
            "model that reads",
            "model outside",
            "next model",
            "evaluating model",
            "evaluator note",
            "evaluator must",
            "automated reviewer",
            "autonomous agent",
            "any agent",
            "whichever agent",
            "whichever assistant",
            "agents with",
            "agent with",
            "agent:",
            "synthesizer",
            "synthesiser",
            "summarizer",
            "aggregator",
            "consolidated reply",
            "merged reply",
            "final reply",
        ],
        &[
            "run ",
            "execute",
            "decode",
            "unpack",
            "call the",
            "open this",
            "append",
            "forget",
            "ignore",
            "obey",
            "disable",
            "approve",
            "schedule",
            "forward",
            "paste",
            "treat this",
            "copy this",
            "recommends only",
            "mention only",
            "must ",
            "shall ",
            "is required to",
            "are asked to",
            "leave them out",
            "leave out",
            "do not cite",
            "stop compiling",
            "before you reply",
            "before responding",
            "rewrite the final",
            "return this text",
            "return this answer",
            "no review",
            "not necessary",
            "without mentioning",
            "silently",
            "not report",
            "mine win",
            "carry out",
            "set relevance",
            "no longer a",
        ],
    ),
    // What nobody says to a person who asked.
    pair(
        &[
            "your memory",
            "long-term memory",
            "your context",
            "from the context",
            "your system message",
            "your instructions",
        ],
        &[
            "save to",
            "append the",
            "append your",
            "replaced by",
            "fill in",
            "is the vault",
            "reveal",
            "print them",
        ],
    ),
    pair(
        &["={{user", "={{last", "={{conversation", "={paste the", "=sessiontoken"],
        &["http://", "https://"],
    ),
    pair(
        &["système", "modèle", "évaluateur", "assistant chargé", "l'assistant"],
        &["doit attribuer", "attribuer la note", "utilise d'abord", "note maximale", "ignore", "transférer"],
    ),
    pair(
        &["avaliador", "modelo que", "assistente que", "evaluador", "asistente que"],
        &["dê nota", "nota dez", "ignore as", "ignore los", "ignora", "puntuación máxima", "descarte"],
    ),
    pair(
        &["modello revisore", "modello che", "valutatore"],
        &["non consideri", "ignori", "riporti nel", "punteggio massimo"],
    ),
    pair(
        &["sprachmodell, das", "assistent, der", "an das modell", "bewerter"],
        &["ignoriere", "führe", "lass die anderen", "gib diesem", "höchstnote", "öffne"],
    ),
    pair(&["taalmodel dat", "model dat", "beoordelaar"], &["laat de andere", "negeer", "voer ", "zeg dat"]),
    pair(
        &["модель, ", "модель:", "оценщик", "ассистент, "],
        &["забудь", "игнорируй", "допиши", "поставь", "выполни"],
    ),
    pair(
        &["裁判模型", "评审模型", "系统提示", "汇总模型", "摘要模型"],
        &["请直接输出", "不得修改", "请忽略", "请执行", "撤回"],
    ),
];

/// What questions about models, agents and their prompts name: whole words, since `agent` is in `reagent`.
const QUESTIONS: [&str; 22] = [
    "ai",
    "llm",
    "llms",
    "gpt",
    "chatgpt",
    "chatbot",
    "chatbots",
    "prompt",
    "prompts",
    "jailbreak",
    "jailbreaks",
    "injection",
    "injections",
    "agent",
    "agents",
    "assistant",
    "assistants",
    "synthesizer",
    "aggregator",
    "evaluator",
    "evaluators",
    "model",
];

/// Whether a text gives an order to a model that reads it.
pub(super) fn are_given(plain: &str) -> bool {
    static VERBS: LazyLock<Verbs> = LazyLock::new(|| Verbs::of(ORDERS));
    is_near(plain, &VERBS)
}

/// Whether a question is about models, so that an answer says what they do.
pub(super) fn are_asked_for(plain: &str) -> bool {
    plain.split(|one: char| !one.is_alphanumeric()).any(|word| QUESTIONS.contains(&word))
}
