//! Word lists for repetitions of a question and for the beginnings of conclusions.
//!
//! Invariant: a word is in a list only if it changes no number beside it, or if the user of the list handles the change.

/// Empty words beside a number.
pub(super) const PLAIN: &[&str] = &[
    "a",
    "an",
    "the",
    "so",
    "thus",
    "hence",
    "therefore",
    "then",
    "in",
    "of",
    "to",
    "for",
    "at",
    "on",
    "by",
    "from",
    "with",
    "is",
    "are",
    "do",
    "does",
    "there",
    "it",
    "altogether",
    "overall",
    "finally",
    "dollars",
    "dollar",
    "answer",
    "also",
    "kwa",
    "hiyo",
    "insgesamt",
    "es",
    "sind",
    "die",
    "der",
    "das",
    "den",
    "am",
    "donc",
    "des",
    "de",
    "en",
    "tout",
    "la",
    "le",
    "les",
    "и",
    "у",
    "в",
];
/// Words for elapsed time.
pub(super) const PAST: &[&str] = &["did", "had", "was", "were"];
/// Words before a thing the question has mentioned.
pub(super) const ARTICLES: &[&str] = &["the", "a", "an", "his", "her", "their", "its", "all"];
/// Words that tell the direction of an action.
pub(super) const DIRECTIONS: &[&str] = &[
    "to", "from", "by", "for", "with", "per", "after", "before", "until", "since", "against", "into", "off",
    "out", "toward", "towards",
];
/// Words for amounts of money.
pub(super) const AMOUNTS: &[&str] =
    &["total", "sum", "cost", "price", "bill", "profit", "it", "that", "this", "answer", "amount"];
/// Words after the asked quantity: `the difference between`, `the remainder when`.
pub(super) const HEADED: &[&str] = &[
    "of", "between", "when", "if", "that", "such", "for", "to", "from", "by", "with", "per", "after",
    "before", "she", "he", "it", "they", "each", "will", "does", "did", "is", "was", "where", "which",
];
/// Words for quantities without an object.
pub(super) const COUNTING: &[&str] =
    &["number", "amount", "total", "value", "sum", "answer", "result", "count", "distance", "time"];
/// Words for place and time.
pub(super) const PLACES: &[&str] =
    &["in", "on", "at", "under", "over", "behind", "inside", "outside", "near"];
/// Verbs before the subject in a question, and after it in a statement.
pub(super) const TURNED: &[&str] =
    &["is", "are", "was", "were", "has", "have", "had", "will", "must", "can", "would", "does", "did", "do"];
/// Verbs after the counted thing.
pub(super) const AUXILIARY: &[&str] = &[
    "do", "does", "did", "is", "are", "was", "were", "has", "have", "had", "will", "must", "can", "would",
    "should",
];
/// Introductions of a sentence.
pub(super) const FRONTED: &[&str] =
    &["in", "on", "at", "for", "after", "during", "over", "am", "im", "en", "por", "у", "в", "за"];
/// Synonyms of asked quantities.
pub(super) const QUANTITIES: &[(&str, &[&str])] = &[
    ("long", &["time", "duration"]),
    ("hours", &["time"]),
    ("minutes", &["time"]),
    ("days", &["time"]),
    ("seconds", &["time"]),
    ("far", &["distance", "travels", "traveled", "travelled", "covers", "covered"]),
    ("percentage", &["percent"]),
    ("many", &["number"]),
    ("much", &["amount"]),
    ("cost", &["price"]),
    ("costs", &["price"]),
    ("old", &["age"]),
];
/// Words for what remains.
pub(super) const LEFT: &[&str] = &["left", "remain", "remains", "remaining"];
/// Verbs for the final amount: `is left with`, `ends up with`.
pub(super) const KEEPING: &[&str] = &["left", "leaves", "ends", "now"];
/// Words for totals.
pub(super) const TOTAL: &[&str] = &["total", "altogether", "together", "combined", "sum", "both", "all"];
/// Those of them that name the actors.
pub(super) const JOINT: &[&str] = &["together", "both", "combined"];
/// Words of a question about amounts of money that add up.
pub(super) const SPENT: &[&str] =
    &["spend", "spent", "pay", "paid", "cost", "earn", "earned", "make", "made", "bill", "have", "money"];
/// Words of a question that does not ask for a total.
pub(super) const NO_TOTAL: &[&str] = &[
    "change",
    "left",
    "remain",
    "remains",
    "remaining",
    "more",
    "fewer",
    "less",
    "than",
    "difference",
    "profit",
    "save",
    "saved",
    "return",
    "short",
    "each",
    "every",
    "per",
    "average",
    "discount",
    "percent",
    "percentage",
    "old",
    "age",
    "need",
    "needed",
    "rest",
    "back",
    "lose",
    "lost",
];
/// Words that must not be omitted from the asked quantity.
pub(super) const KEPT: &[&str] = &["back", "away", "off", "out", "again", "extra", "zurück"];
/// Conjunctions.
pub(super) const JOINTS: &[&str] = &["and", "or", "und", "oder", "et", "ou", "y", "и"];
/// Words that begin a condition.
pub(super) const CONDITIONS: &[&str] = &["if", "si", "wenn", "falls", "если", "kama"];
/// Irregular past forms.
pub(super) const FORMS: &[(&str, &str)] = &[
    ("take", "took"),
    ("make", "made"),
    ("sell", "sold"),
    ("buy", "bought"),
    ("pay", "paid"),
    ("get", "got"),
    ("spend", "spent"),
    ("eat", "ate"),
    ("run", "ran"),
    ("drive", "drove"),
    ("find", "found"),
    ("win", "won"),
    ("grow", "grew"),
    ("go", "went"),
    ("swim", "swam"),
    ("write", "wrote"),
    ("bring", "brought"),
    ("catch", "caught"),
    ("see", "saw"),
    ("sweep", "swept"),
    ("keep", "kept"),
    ("sleep", "slept"),
    ("give", "gave"),
    ("lose", "lost"),
    ("build", "built"),
    ("send", "sent"),
    ("lend", "lent"),
    ("throw", "threw"),
    ("draw", "drew"),
    ("wear", "wore"),
    ("ride", "rode"),
    ("fly", "flew"),
    ("drink", "drank"),
    ("break", "broke"),
    ("choose", "chose"),
    ("hold", "held"),
    ("feed", "fed"),
    ("meet", "met"),
    ("dig", "dug"),
    ("sing", "sang"),
    ("steal", "stole"),
    ("come", "came"),
    ("teach", "taught"),
    ("have", "had"),
];
/// Words that distribute.
pub(super) const EACH: &[&str] =
    &["each", "every", "per", "par", "pro", "je", "jeden", "jede", "chaque", "cada", "por"];
/// Introductions of a conclusion, in the order in which they are searched.
pub(super) const CONCLUDING: &[&str] = &[
    "il y a donc",
    "il y a",
    "so that",
    "so",
    "thus",
    "hence",
    "therefore",
    "then",
    "finally",
    "consequently",
    "as a result",
    "in conclusion",
    "overall",
    "this means that",
    "this means",
    "that means that",
    "that means",
    "which means",
    "we get",
    "we have",
    "this gives",
    "that gives",
    "which gives",
    "this makes",
    "that makes",
    "which makes",
    "that is",
    "this is",
    "which is",
    "giving",
    "and",
    "also",
    "somit",
    "daher",
    "donc",
    "ainsi",
    "et",
    "por lo tanto",
    "por tanto",
    "entonces",
    "así que",
    "y así",
    "y",
    "значит",
    "итак",
    "поэтому",
    "следовательно",
    "таким образом",
    "и",
    "всего",
    "итого",
    "所以",
    "因此",
    "因而",
    "那么",
    "一共",
    "总共",
    "共",
    "したがって",
    "よって",
    "だから",
    "つまり",
    "kwa hiyo",
    "hivyo",
    "তাই",
    "সুতরাং",
    "অতএব",
    "కాబట్టి",
    "ดังนั้น",
    "따라서",
    "그래서",
];
/// Words that begin a conclusion; the part before them is its reason.
pub(super) const DRAWN: &[&str] = &[
    "so ",
    "thus ",
    "hence ",
    "therefore ",
    "somit ",
    "daher ",
    "donc ",
    "así que ",
    "y así ",
    "поэтому ",
    "значит ",
    "所以",
    "因此",
    "したがって",
    "よって",
    "だから",
    "kwa hiyo ",
    "তাই ",
    "కాబట్టి ",
    "ดังนั้น",
];
/// Words that end a reason.
pub(super) const CAUSES: &[&str] = &["ので", "から"];
/// Empty words before a colon or a calculation.
pub(super) const LEADING: &[&str] = &[
    "step",
    "answer",
    "final",
    "result",
    "solution",
    "conclusion",
    "so",
    "thus",
    "hence",
    "therefore",
    "then",
    "finally",
    "now",
    "we",
    "can",
    "let",
    "let's",
    "us",
    "calculate",
    "compute",
    "find",
    "get",
    "have",
    "add",
    "adding",
    "these",
    "them",
    "up",
    "this",
    "that",
    "gives",
    "equals",
    "the",
    "in",
    "it",
    "is",
    "numbers",
    "amounts",
    "divide",
    "dividing",
    "subtract",
    "subtracting",
    "multiply",
    "multiplying",
    "simplify",
    "simplifying",
    "solve",
    "solving",
    "both",
    "sides",
    "by",
    "from",
    "yields",
];
/// Words after a number that do not belong to its unit.
pub(super) const BEHIND: &[&str] = &[
    "in",
    "per",
    "every",
    "each",
    "for",
    "at",
    "on",
    "left",
    "total",
    "altogether",
    "a",
    "an",
    "from",
    "to",
    "after",
    "is",
    "are",
    "remain",
    "remains",
    "remaining",
    "must",
    "every",
    "with",
    "by",
    "if",
    "when",
    "now",
];
/// Asking words in scripts without blanks.
pub(super) const ASKING: &[&str] = &["多少", "いくつの", "いくつ", "いくら", "几", "何", "กี่", "몇"];

/// Collective units.
pub(super) const SCALES: &[&str] = &[
    "dozen",
    "dozens",
    "hundred",
    "hundreds",
    "thousand",
    "thousands",
    "million",
    "millions",
    "billion",
    "billions",
    "pair",
    "pairs",
];
