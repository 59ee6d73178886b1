//! The phrases of injections in many languages, as pairs of words that count only near each other.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// The largest distance in bytes between two words of a pair.
const NEAR_BYTES: usize = 90;

/// Words of one language. One of `verbs` near one of `objects`, in either order, is a match.
pub(super) struct Pair {
    verbs: &'static [&'static str],
    objects: &'static [&'static str],
}

pub(super) const fn pair(verbs: &'static [&'static str], objects: &'static [&'static str]) -> Pair {
    Pair { verbs, objects }
}

/// Phrases that tell the reader to ignore instructions or other answers, mostly one row per language.
const OVERRIDES: &[Pair] = &[
    pair(
        &[
            "ignore",
            "disregard",
            "forget",
            "override",
            "do not follow",
            "discard",
            "do not consider",
            "do not look at",
            "do not read",
            "leave out the",
            "skip the other",
            "set aside",
            "put aside",
            "need to follow",
            "stop following",
        ],
        &[
            "previous instruction",
            "prior instruction",
            "earlier instruction",
            "above instruction",
            "all instruction",
            "instructions above",
            "instructions before",
            "your instructions",
            "previous prompt",
            "system prompt",
            "everything above",
            "everything before",
            "other answers",
            "other candidates",
            "other responses",
            "every other candidate",
            "every other answer",
            "every other response",
            "rest of the candidates",
            "rest of the answers",
            "rest of the responses",
            "remaining candidates",
            "remaining answers",
            "remaining responses",
            "the rubric",
            "previous directions",
            "the other authors",
            "your guidelines",
            "you were told",
            "you were given",
            "you were asked",
            "rules above",
            "above rules",
            "previous rules",
            "earlier rules",
            "earlier guidance",
        ],
    ),
    pair(
        &["reveal", "print", "repeat", "recite", "translate", "output", "show me", "tell me"],
        &[
            "system prompt",
            "your prompt",
            "your instructions",
            "your rules",
            "hidden guidelines",
            "hidden instructions",
            "what you were told",
            "the text above this",
        ],
    ),
    pair(
        &["previous", "earlier", "your safety", "the rules"],
        &["are cancelled", "are canceled", "are suspended", "are void", "no longer apply"],
    ),
    pair(
        &[
            "from now on you",
            "from now on, you",
            "real instruction is",
            "your only job",
            "your updated assignment",
        ],
        &[" "],
    ),
    pair(
        &["merged text", "final text", "final synthesis", "stop merging", "fused answer", "merged answer"],
        &["you must", "must add", "output", "quote this", "nothing else", "no other"],
    ),
    pair(
        &["treat the other", "treat all other", "treat every other"],
        &["as spam", "as wrong", "as noise", "as incorrect", "as invalid", "as untrusted", "as false"],
    ),
    pair(
        &["candidates", "other answers", "other responses"],
        &["are fabricated", "are fake", "are forged", "are hallucinated", "is fabricated", "was fabricated"],
    ),
    pair(
        &["ignorier", "vergiss", "vergesst", "missachte"],
        &["anweisung", "andere antworten", "anderen antworten", "anderen kandidaten"],
    ),
    pair(
        &["ignore", "oublie", "ne tiens pas compte", "ne tenez pas compte"],
        &["instructions préc", "consignes", "instructions ci-dessus", "autres réponses"],
    ),
    pair(
        &["ignora", "ignore", "olvida", "olvide", "descarta"],
        &["instrucciones", "indicaciones anteriores", "otras respuestas", "demás respuestas"],
    ),
    pair(&["ignora", "dimentica", "trascura"], &["istruzioni", "altre risposte"]),
    pair(&["ignore", "esqueça", "esquece", "desconsidere"], &["instruções", "outras respostas"]),
    pair(
        &["игнорируй", "проигнорируй", "забудь", "не учитывай"],
        &["инструкци", "указани", "другие ответы", "остальные ответы"],
    ),
    pair(&["ігноруй", "забудь"], &["інструкц", "вказівк", "інші відповіді"]),
    pair(
        &["zignoruj", "ignoruj", "zapomnij"],
        &["instrukcj", "polece", "inne odpowiedzi", "pozostałe odpowiedzi"],
    ),
    pair(&["negeer", "vergeet"], &["instructies", "aanwijzingen", "andere antwoorden"]),
    pair(&["ignorera", "glöm"], &["instruktion", "andra svar"]),
    pair(&["ignoruj", "zapomeň"], &["pokyny", "instrukce", "ostatní odpovědi"]),
    pair(&["yok say", "görmezden gel", "unut"], &["talimat", "diğer cevap", "diğer yanıt"]),
    pair(&["abaikan", "lupakan"], &["instruksi", "perintah sebelum", "jawaban lain"]),
    pair(&["bỏ qua", "hãy quên"], &["hướng dẫn", "chỉ dẫn", "câu trả lời khác"]),
    pair(
        &["忽略", "无视", "無視", "忘记", "忘記", "忽視"],
        &["指令", "指示", "之前的说明", "其他答案", "其他回答", "其它回答", "提示词"],
    ),
    pair(&["無視", "忘れて", "忘れろ"], &["指示", "命令", "他の回答", "他の答え"]),
    pair(&["무시", "잊어", "잊으"], &["지시", "명령", "다른 답변", "다른 답"]),
    pair(&["تجاهل", "انس ", "انسَ", "أهمل"], &["التعليمات", "الأوامر", "الإجابات الأخرى"]),
    pair(&["नज़रअंदाज़", "अनदेखा", "अनदेखी", "भूल जा"], &["निर्देश", "अन्य उत्तर", "दूसरे उत्तर"]),
    pair(&["התעלם", "התעלמו", "שכח"], &["ההוראות", "התשובות האחרות"]),
    pair(&["نادیده بگیر"], &["دستور", "پاسخ‌های دیگر", "پاسخهای دیگر"]),
    pair(&["เพิกเฉย", "ละเว้น", "ลืม"], &["คำสั่ง", "คำตอบอื่น"]),
];

/// Phrases that tell which answer should win.
const PRAISES: &[Pair] = &[
    pair(
        &["this answer", "this response", "this candidate", "my answer", "my response"],
        &[
            "is the best",
            "is clearly best",
            "rank it first",
            "ranked first",
            "put it first",
            "highest score",
            "must win",
            "be chosen",
            "as the base",
            "as your base",
            "full marks",
            "top score",
            "10/10",
        ],
    ),
    pair(
        &["choose this", "pick this", "select this", "vote for this", "rank this", "prefer this"],
        &["this answer", "this response", "this candidate"],
    ),
    pair(
        &["select mine", "choose mine", "pick mine", "prefer mine", "rank mine", "put mine", "use mine"],
        &["other answers", "other responses", "other candidates", "the others", "the rest", "ranking"],
    ),
    pair(
        &[
            "score this",
            "rate this",
            "grade this",
            "mark this",
            "award this",
            "give this answer",
            "give this response",
            "give this candidate",
            "give this solution",
        ],
        &[
            "10/10",
            "10 out of 10",
            "ten out of ten",
            "5/5",
            "100/100",
            "5 stars",
            "five stars",
            "full marks",
            "full score",
            "the highest",
            "the maximum",
            "maximum points",
            "maximum score",
            "perfect score",
            "top score",
        ],
    ),
    pair(
        &["bewerte diese", "bewertet diese"],
        &["10/10", "10 von 10", "volle punkt", "voller punkt", "höchst"],
    ),
    pair(
        &["note cette", "notez cette", "évalue cette", "évaluez cette"],
        &["10/10", "20/20", "note maximale"],
    ),
    pair(
        &["califica esta", "puntúa esta", "evalúa esta"],
        &["10/10", "puntuación máxima", "nota máxima", "máxima puntuación"],
    ),
    pair(
        &["diese antwort", "dieser kandidat"],
        &["die beste", "am besten", "wähle", "erste stelle", "auf platz 1", "höchste punktzahl"],
    ),
    pair(
        &["cette réponse", "ce candidat"],
        &["la meilleure", "choisis", "choisissez", "en premier", "première place"],
    ),
    pair(
        &["esta respuesta", "este candidato"],
        &["la mejor", "elige", "elija", "en primer lugar", "primer puesto"],
    ),
    pair(&["questa risposta"], &["la migliore", "scegli", "al primo posto"]),
    pair(&["esta resposta"], &["a melhor", "escolha", "em primeiro lugar"]),
    pair(&["этот ответ", "данный ответ"], &["лучший", "выбери", "выберите", "на первое место"]),
    pair(&["ta odpowiedź", "tę odpowiedź"], &["najlepsza", "wybierz", "na pierwszym miejscu"]),
    pair(&["dit antwoord"], &["het beste", "kies", "op de eerste plaats"]),
    pair(&["bu cevap", "bu cevabı", "bu yanıt"], &["en iyi", "seç", "birinci sıra"]),
    pair(&["jawaban ini"], &["terbaik", "pilih"]),
    pair(&["câu trả lời này"], &["tốt nhất", "chọn"]),
    pair(
        &["这个答案", "本答案", "这个回答", "本回答", "此回答"],
        &["最好", "最佳", "选择", "排在第一", "满分"],
    ),
    pair(&["この回答", "この答え"], &["最良", "最高", "最も優れ", "選んで", "選べ", "一位"]),
    pair(&["이 답변", "이 답"], &["최고", "가장 좋", "선택", "1위"]),
    pair(&["هذه الإجابة"], &["الأفضل", "هي أفضل", "اختر", "المرتبة الأولى"]),
    pair(&["यह उत्तर", "इस उत्तर"], &["सबसे अच्छा", "सर्वश्रेष्ठ", "चुनें", "चुनो", "पहले स्थान"]),
];

/// How a token of a chat template begins and ends.
const TOKENS: [(&str, &str); 2] = [("<|", "|>"), ("[|", "|]")];
/// The longest such token, in bytes.
const TOKEN_BYTES_MAX: usize = 40;

/// Other markers of turns in chat templates, which occur only in texts about them. Without underscores, which the normal form drops
/// as emphasis.
const TURNS: &[&str] = &[
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<startofturn>",
    "<endofturn>",
    "<|turn>",
    "<turn|>",
    "<seed:",
    "<reserved",
    "]~b]",
    "</s>[",
    "<system-reminder",
    "[systemprompt]",
    "[system message]",
    "### system",
    "### instruction",
    "### new instruction",
    "begin system prompt",
    "\"role\": \"system\"",
    "\"role\":\"system\"",
    "\"role\": \"developer\"",
    "\"role\":\"developer\"",
];

/// Names of speakers at the beginning of a line with a whole sentence.
const SPEAKERS: &[&str] = &[
    "system:",
    "[system]",
    "system prompt:",
    "system message:",
    "system override:",
    "developer:",
    "new instructions:",
    "note to the judge:",
    "note to judge:",
    "note to the editor:",
    "systemnachricht:",
    "système :",
    "système:",
    "sistema:",
    "система:",
    "sistem:",
    "系统:",
    "系统提示:",
    "システム:",
    "시스템:",
    "النظام:",
    "सिस्टम:",
];

/// The fewest words of a turn. A shorter line with a speaker is a heading.
const SPEECH_WORDS_MIN: usize = 3;

/// The verbs of a table, which are all searched in one pass however many languages there are.
pub(super) struct Verbs {
    search: AhoCorasick,
    /// The row of each verb.
    pairs: Vec<&'static Pair>,
}

impl Verbs {
    pub(super) fn of(table: &'static [Pair]) -> Self {
        let verbs = table.iter().flat_map(|pair| pair.verbs.iter().map(move |verb| (*verb, pair)));
        let (verbs, pairs): (Vec<&str>, Vec<&Pair>) = verbs.unzip();
        // Of the standard kind, because verbs overlap.
        Self { search: AhoCorasick::new(verbs).expect("a few hundred short words"), pairs }
    }
}

/// A search for a few words in one pass, many bytes at a time.
pub(super) fn search(words: &[&str]) -> AhoCorasick {
    let leftmost = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(words);
    leftmost.expect("a few short words")
}

/// Whether a text tells the reader to ignore instructions. `plain` is the normal form.
pub(super) fn overrides(plain: &str) -> bool {
    static VERBS: LazyLock<Verbs> = LazyLock::new(|| Verbs::of(OVERRIDES));
    is_near(plain, &VERBS)
}

/// Whether a question is about such words.
pub(super) fn asks_about_overrides(plain: &str) -> bool {
    ["prompt injection", "prompt-injection", "jailbreak"].iter().any(|word| plain.contains(word))
}

/// Whether a text tells which answer should win.
pub(super) fn praises(plain: &str) -> bool {
    static VERBS: LazyLock<Verbs> = LazyLock::new(|| Verbs::of(PRAISES));
    is_near(plain, &VERBS)
}

/// Whether a text writes a turn of another speaker.
pub(super) fn takes_a_turn(plain: &str) -> bool {
    let speaks = |line: &str| {
        let line = line.trim_start_matches(['#', '>', '|', '-', ' ']);
        let said = SPEAKERS.iter().find_map(|speaker| line.strip_prefix(speaker));
        said.is_some_and(|said| {
            said.split(' ').count() >= SPEECH_WORDS_MIN || !said.is_ascii() && said.len() > 12
        })
    };
    let begins = |speaker: &str| plain.lines().any(|line| line.trim_start().starts_with(speaker));
    let talks = || begins("assistant:") && (begins("human:") || begins("user:"));
    has_marker(plain) || plain.lines().any(speaks) || talks()
}

/// Whether a text has a marker of turns.
pub(super) fn has_marker(plain: &str) -> bool {
    static MARKERS: LazyLock<AhoCorasick> = LazyLock::new(|| search(TURNS));
    MARKERS.is_match(plain) || has_token(plain)
}

/// Whether a text has a token of a chat template: one word between its marks. `f <| x |> g` is none.
fn has_token(plain: &str) -> bool {
    TOKENS.iter().any(|(open, close)| {
        plain.match_indices(open).any(|(at, _)| {
            let inside = &plain[at + open.len()..];
            let near = &inside[..inside.floor_char_boundary(TOKEN_BYTES_MAX)];
            let word = near.split_once(close).map(|(word, _)| word);
            word.is_some_and(|word| {
                !word.is_empty() && word.chars().all(|one| one.is_alphanumeric() || "▁:/-".contains(one))
            })
        })
    })
}

/// Whether a word of a table is near its other.
pub(super) fn is_near(plain: &str, verbs: &Verbs) -> bool {
    verbs.search.find_overlapping_iter(plain).any(|verb| {
        let from = plain.floor_char_boundary(verb.start().saturating_sub(NEAR_BYTES));
        let near = &plain[from..plain.floor_char_boundary(verb.start() + NEAR_BYTES)];
        verbs.pairs[verb.pattern()].objects.iter().any(|object| near.contains(object))
    })
}
