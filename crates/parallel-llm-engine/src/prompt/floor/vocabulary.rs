//! The words by which the checks of the floor tell talk from an answer.

use std::collections::HashSet;
use std::sync::OnceLock;

use foldhash::fast::RandomState;

/// A list of words in lower case.
pub(super) struct WordList {
    words: &'static str,
    set: OnceLock<HashSet<&'static str, RandomState>>,
}

impl WordList {
    const fn of(words: &'static str) -> Self {
        Self { words, set: OnceLock::new() }
    }

    /// Whether a word in lower case is in the list.
    pub(super) fn has(&self, word: &str) -> bool {
        self.set.get_or_init(|| self.words.split_whitespace().collect()).contains(word)
    }
}

/// What models call a candidate.
pub(super) static NOUNS: WordList = WordList::of(
    "candidate answer response reference option draft author solution choice reply text version seat \
     entry submission member output result label base kandidat antwort vorschlag entwurf candidat réponse \
     candidato candidata respuesta risposta resposta kandydat odpowiedź кандидат ответ вариант antwoord \
     kandidaat svar",
);

/// Those of them by which a question may call its own choices.
pub(super) static OFFERED: WordList = WordList::of(
    "answer option choice text solution result label version antwort réponse respuesta risposta resposta \
     odpowiedź ответ вариант antwoord svar",
);

/// The words of talk that only chooses. None of them answers anything.
pub(super) static FILLERS: WordList = WordList::of(
    "last line or both three two four but don todo tbd goes is are was the a an best better good great i would will ll d return choose chose chosen choosing \
     pick picked picking select selected selecting selection prefer preferred go going with my as it its \
     this that one stands stand unchanged correct right most accurate complete final to of for from be \
     should used use using start started here so therefore thus hence and all among these those other \
     others than more clear clearest clearer already please see above below given provided by in at has \
     have been now write written follows following person person's s strongest winner wins win winning \
     word verbatim without changes change any no needed need needs answered answers candidates responses \
     request user task json object analysis editor judge chair reader panel done ok okay sure certainly \
     recommend recommended based on because since well me we our you your let us am keep kept take taken \
     ranked rank ranks ranking first number top highest quality overall think believe opinion only just \
     concise comprehensive helpful detailed suitable appropriate makes sense agree agreed vote voted \
     voting favor favour satisfies fits matches serves ich wähle nehme ist besten die der das beste würde bessere besser \
     richtig verdict decision reason reasons rationale justification boxed text textbf mathrm order insert put enter fill \
     place placeholder content type und meine wahl je choisis la le les est meilleure meilleur correcte elijo el es mejor \
     correcta mi elección scelgo migliore è il escolho melhor é o wybieram jest najlepsza najlepszy \
     выбираю лучший лучше правильный я het de ik kies",
);

/// Words that begin a reason.
pub(super) static REASONS: WordList = WordList::of(
    "because since as reason reasons rationale justification explanation why due weil car porque perché",
);

/// What is said of a text that was chosen.
pub(super) static QUALITIES: WordList = WordList::of(
    "it complete accurate clear clearer concise correct thorough detailed best comprehensive helpful precise covers mentions \
     includes gives provides explains addresses offers informative reads written coherent relevant strongest clearest",
);

/// Words of which a text without a label must have one to be an announcement. `It is right.` may answer a question.
pub(super) static ANNOUNCED: WordList = WordList::of(
    "todo tbd answer answers candidate candidates response responses analysis json editor base request antwort \
     kandidat réponse respuesta risposta resposta task placeholder",
);

/// Nouns in the plural, for all that was answered.
pub(super) static PLURALS: WordList = WordList::of(
    "candidates answers responses references drafts authors solutions replies submissions kandidaten \
     antworten candidats réponses candidatos respuestas candidati risposte respostas kandydaci odpowiedzi \
     кандидаты ответы",
);

/// Nouns for one of them, or for all together.
pub(super) static SINGULARS: WordList = WordList::of(
    "candidate answer response reference draft author solution reply submission panel council kandidat \
     antwort candidat réponse candidato respuesta risposta",
);

/// Words before a noun that mean those at hand.
pub(super) static DETERMINERS: WordList = WordList::of(
    "all both most several multiple these those each two three four five six other others provided given above \
     submitted the many none neither different various majority alle beide die les tous toutes deux los \
     las todos todas ambos gli tutti i le os as drei trois tres every each any no",
);

/// Words right before a noun in the singular that mean all of them.
pub(super) static DETERMINERS_OF_ONE: WordList =
    WordList::of("every each neither either no jede jeder jedes chaque cada ogni");

/// Words before a noun in the singular that mean one of several.
pub(super) static ORDINALS: WordList = WordList::of(
    "first second third fourth fifth last other another erste zweite dritte première deuxième primera \
     segunda the",
);

/// How candidates compare. Of a panel or of authors nothing else tells that they are ours.
pub(super) static COMPARES: WordList = WordList::of(
    "agree agrees disagree disagrees differ differs conflict contradict concur converge unanimously \
     unanimous",
);

/// What is said of candidates.
pub(super) static REPORTS: WordList = WordList::of(
    "agree agrees say says state states mention mentions claim claims suggest suggests differ differs \
     conflict conflicts contradict contradicts conclude concludes disagree disagrees assert asserts \
     correctly incorrectly converge overlap concur wrongly stimmen sagen sind nennen disent sont dicen \
     coinciden son dicono concordano concordam dizem accordo accord identify identifies propose proposes \
     misses omits omit miss",
);

/// What texts are called that answer. Other nouns for candidates (options, solutions, authors) have more meanings.
pub(super) static TEXTS: WordList = WordList::of(
    "candidate answer response draft reply replie submission kandidat kandidaten antwort antworten candidat réponse candidato respuesta risposta \
     resposta",
);

/// What is said of such texts, and of other things, too.
pub(super) static TELLS: WordList = WordList::of(
    "explain explains describe describes recommend recommends give gives provide provides include includes contain contains \
     emphasize emphasizes emphasise emphasises highlight highlights offer offers present presents argue argues discuss \
     discusses focus focuses answers lack lacks fail fails ignore ignores seem seems appear appears arrive arrives \
     consistently essentially basically unanimously notes points covers addresses erklären erwähnen empfehlen erklärt \
     expliquent mentionnent recommandent explican mencionan recomiendan spiegano menzionano",
);

/// What is done with several texts.
pub(super) static COMPARING: WordList = WordList::of(
    "compare compares compared comparing review reviewing reviewed analyze analyzing analyse analysing evaluate evaluating \
     merge merging merged combine combining combined synthesize synthesizing synthesized weigh weighing assess assessing \
     consider considering examine examining rank ranking summarize summarizing according based reading looking blend blending \
     drawing agreement consensus overlap difference differences conflict disagreement vergleich laut nach selon según",
);

/// What was done to write a text of several.
pub(super) static PROCESSED: WordList = WordList::of(
    "started merged merging combined combining added adding took taken kept keeping fixed corrected changes base borrowed \
     borrowing blended incorporated incorporating integrated adapted synthesized fused",
);

/// Words by which a request says what to write, before `answer` and the like.
pub(super) static INSTRUCTING: WordList =
    WordList::of("your give provide return keep format please final only output submit show my");

/// Such words right before it; some of them make it a verb.
pub(super) static INSTRUCTING_BESIDE: WordList = WordList::of(
    "the a an and then to you short single one brief this just must should can will correct best right i ll in concise \
     detailed direct full complete numeric numerical with exact of an no as also or not would could do does don t",
);

/// Judgements behind `is` and `are`.
pub(super) static JUDGEMENTS: WordList = WordList::of(
    "correct right wrong best better accurate similar consistent incorrect the most incomplete identical \
     all equally good mostly more both in not partially mistaken inaccurate superior strongest quite very \
     largely essentially worse worst too fine okay vague unclear missing lacking valid clear clearer clearest equivalent \
     reasonable helpful useful",
);

/// Words of any topic.
pub(super) static COMMON: WordList = WordList::of(
    "that this with from have they their there which when where what will would could should about into \
     more most some such than then them these those your also only other over been being were each every \
     many much very just like make makes made because while after before between through both does doing \
     however therefore here even well first second answer question following example note please sure can \
     may might must need needs used using uses help helps time people different important including \
     always often another within without eine einer einen sind wird werden nicht auch oder dass durch \
     sich dans pour avec plus sont cette para como pero esta este entre sobre della sono anche",
);

/// Numbers in words.
pub(super) static NUMBERS: WordList = WordList::of(
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty seventy eighty \
     ninety hundred thousand million billion half quarter once twice thrice double triple single couple pair dozen nothing nobody few several none no infinity infinite undefined",
);

/// The words of an acknowledgement or a greeting.
pub(super) static ACKNOWLEDGEMENTS: WordList = WordList::of(
    "sure certainly of course absolutely ok okay alright all right understood got it noted done thanks thank you \
     very much for your question request message great good excellent interesting hello hi hey there greetings morning \
     afternoon evening welcome no problem will do happy glad to help assist thing sorry i m apologize gladly acknowledged \
     roger affirmative ready",
);

/// Those of them that say so alone.
pub(super) static CONSENTS: WordList = WordList::of(
    "sure certainly course absolutely ok okay alright understood got noted done thank thanks hello hi hey greetings welcome \
     problem happy glad gladly acknowledged roger affirmative",
);

/// What a promise promises: to speak, or to work on it.
pub(super) static PROMISED: WordList = WordList::of(
    "answer write explain provide give produce analyze analyse compare think consider review check look follow \
     present respond reply create start begin work go break summarize summarise combine merge use draft generate take do \
     help try synthesize synthesise evaluate read see solve find figure determine proceed prepare construct compile list \
     describe outline compute calculate walk address tackle assist share return output form examine assess reason verify \
     recall clarify know get",
);

/// What is asked back or offered.
pub(super) static ASKED_FOR: WordList = WordList::of(
    "information details detail context question questions clarify clarification specify request requests mean help assist \
     assistance need like know problem input task topic",
);

/// What stands for no answer.
pub(super) const NOTHINGS: &[&str] = &[
    "no answer",
    "no response",
    "no content",
    "no output",
    "no text",
    "no reply",
    "n a",
    "na",
    "null",
    "undefined",
    "none",
    "nil",
    "nan",
    "empty",
    "blank",
    "not available",
    "not applicable",
    "nothing",
    "pending",
    "placeholder",
    "error",
    "your answer",
    "your answer here",
    "end of answer",
    "end of response",
    "eos",
    "eof",
    "stop",
];

/// The words of talk that only chooses, in scripts without blanks. The longer ones come first.
pub(super) const UNSPACED: &str = "候选答案 候选人 候选 答案 回答 选项 我选择 选择 我选 我会选 是最好的 最好的 最好 最佳 正确 的 是 选 为 最终 \
     我的 好的 请 如下 以下 这是 给出 候補 選択肢 私は を選びます 選びます が最も が最良です 最良 が正解です 正解 正しい です は が を 最 以下 如下 最后";

/// The words of an announcement without an answer.
pub(super) static ANNOUNCING: WordList = WordList::of(
    "the a an of to for from here is are below follows following goes my your our will now i ll write give as final it \
     this that be json object one request task answer answers candidate candidates response responses analysis editor base \
     text and in with above so me let us you your person s antwort kandidat réponse respuesta risposta resposta die der la \
     das ist est es todo tbd insert put enter fill place placeholder goes go content type complete last line",
);

/// Words of the task of a writer, which an answer rarely needs that no candidate uses.
pub(super) static TASK: WordList = WordList::of(
    "prompt instruction instructions output insert template guidelines conflict conflicts agreement consensus confidence \
     assistant assistants assist untrusted markers panel respond response responses combine combined combining user rules \
     sources format models statements label labelled reply language antworten",
);

/// Those that hardly any answer needs.
pub(super) static OWN_TASK: WordList = WordList::of(
    "draft drafts candidate candidates merge merged merging fuse fused fusing fusion synthesis synthesize synthesized \
     synthesizing synthesise synthesised editor placeholder preamble todo zusammengeführt zusammengeführte zusammenführen \
     fusionner fusionar kandidaat kandidat кандидат 후보 المرشح उम aday",
);

/// Words that another must follow.
pub(super) static DANGLING: WordList = WordList::of(
    "the a an of to and or but with at by for from is are was were be which whose that than as its their his her our your my \
     these those into such if because while where when although has have had will would can could should must",
);

/// Beginnings of the names of languages, and of words for turning one into another.
pub(super) const LANGUAGES: [&str; 40] = [
    "translat",
    "language",
    "übersetz",
    "traduc",
    "traduis",
    "tradu",
    "перев",
    "german",
    "deutsch",
    "french",
    "français",
    "francais",
    "spanish",
    "español",
    "italian",
    "portug",
    "dutch",
    "polish",
    "russian",
    "ukrain",
    "chinese",
    "mandarin",
    "cantonese",
    "japan",
    "korea",
    "arab",
    "hebrew",
    "hindi",
    "greek",
    "turk",
    "latin",
    "vietnam",
    "thai",
    "indones",
    "swed",
    "norweg",
    "danish",
    "finnish",
    "czech",
    "english",
];
