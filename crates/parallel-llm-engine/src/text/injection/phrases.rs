//! The phrases of injections in many languages, as pairs of words that count only near each other.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// The largest distance in bytes between two words of a pair.
const NEAR_BYTES: usize = 90;

/// Words of one language. One of `verbs` near one of `objects`, in either order, is a match.
struct Pair {
    verbs: &'static [&'static str],
    objects: &'static [&'static str],
}

const fn pair(verbs: &'static [&'static str], objects: &'static [&'static str]) -> Pair {
    Pair { verbs, objects }
}

/// Phrases that tell the reader to ignore instructions or other answers, mostly one row per language.
const OVERRIDES: &[Pair] = &[
    pair(
        &["ignore", "disregard", "forget", "override", "do not follow", "discard"],
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
            "the rubric",
            "previous directions",
            "the other authors",
            "your guidelines",
        ],
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
        &["choose", "pick", "select", "vote for", "rank", "prefer"],
        &["this answer", "this response", "this candidate"],
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

/// How a judge talks of what it judges. An answer that talks so speaks to whoever counts verdicts.
const VERDICTS: &[Pair] = &[pair(
    &[
        "as the judge",
        "as a judge",
        "as an impartial",
        "as an evaluator",
        "my verdict",
        "final verdict",
        "verdict:",
        "winner:",
        "the winner is",
        "i have evaluated",
        "i evaluated",
        "i rate",
        "i rank",
        "i would rank",
        "i score",
        "score:",
        "scores:",
        "rating:",
        "ranking:",
        "evaluation:",
        "my evaluation",
        "judging",
        "having judged",
    ],
    &[
        "candidate a",
        "candidate b",
        "candidate c",
        "candidate 1",
        "candidate 2",
        "candidate 3",
        "the candidates",
        "all candidates",
        "candidate answers",
        "answer a",
        "answer b",
        "answer c",
        "answer 1",
        "answer 2",
        "answer 3",
        "response a",
        "response b",
        "response 1",
        "response 2",
        "assistant a",
        "assistant b",
        "the other answers",
        "this answer",
        "this response",
        "10/10",
    ],
)];

/// What judges write that are asked for a form.
const VERDICT_MARKS: &[&str] = &["[[a]]", "[[b]]", "[[c]]", "[[tie]]", "[[rating:", "[[1]]", "[[2]]"];

/// Calls of tools in the forms of models and of their programs, without underscores, which the normal form drops.
const TOOL_MARKS: &[&str] = &[
    "<toolcall",
    "</toolcall",
    "<|toolcall",
    "[toolcall",
    "\"toolcall",
    "'toolcall",
    "<functioncall",
    "\"functioncall",
    "<invoke name=",
    "<invoke>",
    "<function=",
    "<tooluse",
    "\"tooluse\"",
    "\"type\": \"function\"",
    "\"type\":\"function\"",
    "toolcode\n",
    "to=functions",
    "<|python",
    "<|call|>",
    "<|tool",
    "\naction input:",
    "\"method\": \"tools/call\"",
    "\"method\":\"tools/call\"",
];

/// The keys of a call of a tool in JSON.
const TOOL_KEYS: &[Pair] = &[pair(
    &["\"name\"", "\"tool\"", "\"function\"", "\"toolname\"", "\"recipientname\"", "\"action\""],
    &[
        "\"arguments\"",
        "\"toolinput\"",
        "\"actioninput\"",
        "\"args\"",
        "\"parameters\": {",
        "\"parameters\":{",
        "\"input\": {",
    ],
)];

/// Markers of turns in chat templates, which occur only in texts about them. Without underscores, which the normal form drops
/// as emphasis.
const TURNS: &[&str] = &[
    "<|imstart|>",
    "<|imend|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|eotid|>",
    "<|startheaderid|>",
    "<|endoftext|>",
    "<|end|>",
    "[/inst]",
    "<<sys>>",
    "<startofturn>",
    "<endofturn>",
    "[system message]",
    "### system",
    "### instruction",
    "### new instruction",
    "begin system prompt",
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

/// Whether a text talks as a judge of answers.
pub(super) fn judges(plain: &str) -> bool {
    static VERBS: LazyLock<Verbs> = LazyLock::new(|| Verbs::of(VERDICTS));
    static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| search(VERDICT_MARKS));
    MARKS.is_match(plain) || is_near(plain, &VERBS)
}

/// Whether a text has what looks like a call of a tool.
pub(super) fn calls_a_tool(plain: &str) -> bool {
    static KEYS: LazyLock<Verbs> = LazyLock::new(|| Verbs::of(TOOL_KEYS));
    static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| search(TOOL_MARKS));
    MARKS.is_match(plain) || (plain.contains('{') && is_near(plain, &KEYS))
}

/// The verbs of a table, which are all searched in one pass however many languages there are.
struct Verbs {
    search: AhoCorasick,
    /// The row of each verb.
    pairs: Vec<&'static Pair>,
}

impl Verbs {
    fn of(table: &'static [Pair]) -> Self {
        let verbs = table.iter().flat_map(|pair| pair.verbs.iter().map(move |verb| (*verb, pair)));
        let (verbs, pairs): (Vec<&str>, Vec<&Pair>) = verbs.unzip();
        // Of the standard kind, because verbs overlap.
        Self { search: AhoCorasick::new(verbs).expect("a few hundred short words"), pairs }
    }
}

/// A search for a few words in one pass, many bytes at a time.
fn search(words: &[&str]) -> AhoCorasick {
    let leftmost = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(words);
    leftmost.expect("a few short words")
}

/// Whether a text tells the reader to ignore instructions. `plain` is the normal form.
pub(super) fn overrides(plain: &str) -> bool {
    static VERBS: LazyLock<Verbs> = LazyLock::new(|| Verbs::of(OVERRIDES));
    is_near(plain, &VERBS)
}

/// Whether a text tells which answer should win.
pub(super) fn praises(plain: &str) -> bool {
    static VERBS: LazyLock<Verbs> = LazyLock::new(|| Verbs::of(PRAISES));
    is_near(plain, &VERBS) || names_a_label(plain)
}

/// Whether a text writes a turn of another speaker.
pub(super) fn takes_a_turn(plain: &str) -> bool {
    static MARKERS: LazyLock<AhoCorasick> = LazyLock::new(|| search(TURNS));
    let speaks = |line: &str| {
        let line = line.trim_start_matches(['#', '>', '|', '-', ' ']);
        let said = SPEAKERS.iter().find_map(|speaker| line.strip_prefix(speaker));
        said.is_some_and(|said| {
            said.split(' ').count() >= SPEECH_WORDS_MIN || !said.is_ascii() && said.len() > 12
        })
    };
    MARKERS.is_match(plain) || plain.lines().any(speaks)
}

fn is_near(plain: &str, verbs: &Verbs) -> bool {
    verbs.search.find_overlapping_iter(plain).any(|verb| {
        let from = plain.floor_char_boundary(verb.start().saturating_sub(NEAR_BYTES));
        let near = &plain[from..plain.floor_char_boundary(verb.start() + NEAR_BYTES)];
        verbs.pairs[verb.pattern()].objects.iter().any(|object| near.contains(object))
    })
}

/// `response c is best`, `candidate a wins`.
fn names_a_label(plain: &str) -> bool {
    static NAMES: LazyLock<AhoCorasick> = LazyLock::new(|| search(&["response ", "candidate ", "answer "]));
    NAMES.find_iter(plain).any(|name| {
        let mut words =
            plain[name.end()..].split([' ', '\n', ',', '.', '!', ';', ':']).filter(|word| !word.is_empty());
        let label = words
            .next()
            .is_some_and(|word| word.len() == 1 && word.starts_with(|one: char| one.is_ascii_lowercase()));
        let rest: Vec<&str> = words.take(3).collect();
        let wins = match rest.as_slice() {
            ["wins" | "first", ..] | ["is", "best" | "correct", ..] | ["must", "win", ..] => true,
            ["is", "the" | "clearly", best] => best.starts_with("best") || best.starts_with("winner"),
            _ => false,
        };
        label && wins
    })
}
