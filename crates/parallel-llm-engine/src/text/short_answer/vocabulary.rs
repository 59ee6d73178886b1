//! The words by which it is told whether a sentence only says again what a question says, and where in a sentence its
//! conclusion begins.
//!
//! What always holds: a word stands here only where it changes nothing of a number beside it, or where who uses the list
//! says what it changes.

/// Words that say nothing of their own about a number.
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
/// Words for time gone by, which a question has where it asks for that.
pub(super) const PAST: &[&str] = &["did", "had", "was", "were"];
/// Words before a thing that a question has told of.
pub(super) const ARTICLES: &[&str] = &["the", "a", "an", "his", "her", "their", "its", "all"];
/// What tells who does it to whom, or from where to where.
pub(super) const DIRECTIONS: &[&str] = &[
    "to", "from", "by", "for", "with", "per", "after", "before", "until", "since", "against", "into", "off",
    "out", "toward", "towards",
];
/// Words that may be so much money.
pub(super) const AMOUNTS: &[&str] =
    &["total", "sum", "cost", "price", "bill", "profit", "it", "that", "this", "answer", "amount"];
/// What stands behind the word for what is asked: `the difference between`, `the remainder when`.
pub(super) const HEADED: &[&str] = &[
    "of", "between", "when", "if", "that", "such", "for", "to", "from", "by", "with", "per", "after",
    "before", "she", "he", "it", "they", "each", "will", "does", "did", "is", "was", "where", "which",
];
/// Words for what is asked that leave open of what.
pub(super) const COUNTING: &[&str] =
    &["number", "amount", "total", "value", "sum", "answer", "result", "count", "distance", "time"];
/// What tells where or when.
pub(super) const PLACES: &[&str] =
    &["in", "on", "at", "under", "over", "behind", "inside", "outside", "near"];
/// Words that a question puts before whom it asks about, and a statement behind.
pub(super) const TURNED: &[&str] =
    &["is", "are", "was", "were", "has", "have", "had", "will", "must", "can", "would", "does", "did", "do"];
/// Verbs behind what is counted.
pub(super) const AUXILIARY: &[&str] = &[
    "do", "does", "did", "is", "are", "was", "were", "has", "have", "had", "will", "must", "can", "would",
    "should",
];
/// What may stand before the rest of a sentence.
pub(super) const FRONTED: &[&str] =
    &["in", "on", "at", "for", "after", "during", "over", "am", "im", "en", "por", "у", "в", "за"];
/// Names of what is asked for in other words.
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
/// Words for what is not gone.
pub(super) const LEFT: &[&str] = &["left", "remain", "remains", "remaining"];
/// Verbs for what is left in the end: `is left with`, `ends up with`.
pub(super) const KEEPING: &[&str] = &["left", "leaves", "ends", "now"];
/// Words for all of it.
pub(super) const TOTAL: &[&str] = &["total", "altogether", "together", "combined", "sum", "both", "all"];
/// Those of them that say who does it.
pub(super) const JOINT: &[&str] = &["together", "both", "combined"];
/// Words of a question about amounts of money that add up.
pub(super) const SPENT: &[&str] =
    &["spend", "spent", "pay", "paid", "cost", "earn", "earned", "make", "made", "bill", "have", "money"];
/// Words of a question that asks for something else than what all comes to.
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
/// Words that may not be left out of what a question asks.
pub(super) const KEPT: &[&str] = &["back", "away", "off", "out", "again", "extra", "zurück"];
/// What joins two things.
pub(super) const JOINTS: &[&str] = &["and", "or", "und", "oder", "et", "ou", "y", "и"];
/// What begins a condition.
pub(super) const CONDITIONS: &[&str] = &["if", "si", "wenn", "falls", "если", "kama"];
/// Verbs with another form for time gone by.
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
/// Words that give to each what they stand before.
pub(super) const EACH: &[&str] =
    &["each", "every", "per", "par", "pro", "je", "jeden", "jede", "chaque", "cada", "por"];
/// What leads to a conclusion and says nothing of its own, in the order in which it is looked for.
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
/// What a conclusion begins with: what its sentence says before is the reason for it.
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
/// What a reason ends with.
pub(super) const CAUSES: &[&str] = &["ので", "から"];
/// Words that stand before a colon, or a reckoning, and say nothing of their own.
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
/// Words behind a number that begin something else than what it counts.
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
/// Where a question in a script without blanks has the number that it asks for.
pub(super) const ASKING: &[&str] = &["多少", "いくつの", "いくつ", "いくら", "几", "何", "กี่", "몇"];

/// Words of what is counted that say how many make one of it.
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
