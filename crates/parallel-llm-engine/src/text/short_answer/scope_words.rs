//! The closed lists by which it is told what a sentence of a request does. What a list lacks costs a call, and no answer.

use super::word_set::{PhraseSet, WordSet};

/// Verbs that ask for a text.
pub(super) static OPEN_VERBS: WordSet = WordSet::of(
    "quote remind create build generate invent paraphrase rephrase praise rate draw \
     plot sort arrange recommend suggest advise propose explain describe discuss compare contrast justify \
     argue defend criticize critique review assess analyze analyse summarize summarise outline draft write \
     compose design plan implement refactor rewrite translate improve list name prove derive interpret \
     diagnose brainstorm tell say comment elaborate illustrate debug fix help teach persuade sketch weigh \
     rank pick choose select decide prescribe treat give show state identify include mention cite add \
     provide make indicate present report check warn point specify clarify define",
);
/// Verbs that ask for a value.
pub(super) static CLOSED_VERBS: WordSet = WordSet::of(
    "find compute calculate determine evaluate simplify solve factor expand express \
     convert count add subtract multiply divide complete estimate predict classify round",
);
/// Those of them that ask for a value wherever they stand.
pub(super) static VALUE_VERBS: WordSet = WordSet::of("find compute calculate determine evaluate");
/// Words behind `how` that ask for a quantity.
pub(super) static QUANTITIES: WordSet =
    WordSet::of("many much long far old tall big high fast wide deep heavy large");
/// Verbs that say how to reply.
pub(super) static FORM_VERBS: WordSet = WordSet::of(
    "answer put end finish conclude respond reply return output present format provide \
     give write state enter round express report show make begin start explain place submit indicate print \
     choose select pick type leave say solve simplify include add specify",
);
/// Words by which a sentence about the reply is told from one about the matter.
pub(super) static FORM_WORDS: WordSet = WordSet::of(
    "answer json boxed reasoning work letter option field nearest decimal digit digits \
     yes true nothing only prose radians degrees",
);
/// Verbs of a sentence that neither asks nor says how to reply: `let x be`, `think step by step`.
pub(super) static NEUTRAL_VERBS: WordSet = WordSet::of(
    "let let's assume suppose note consider use think reason remember read be do \
     don't no only your work keep follow ignore imagine recall",
);
/// Words that join two things, in the languages of Europe.
pub(super) static CONJUNCTIONS: WordSet = WordSet::of(
    "and or und oder sowie et ou y e o u en of ed och eller og i oraz lub albo nebo \
     и или і ve veya és vagy και ή",
);
/// Words of a sentence that only says how to reply, and names for any short answer.
pub(super) static REPLY_WORDS: WordSet = WordSet::of(
    "return returns repr a after again an and answer answers any as assertion at bare \
     base be begin begins behind between block box boxed braces brackets bullet by capital case character \
     choice common concise conclude containing correct decimal decimals degrees digit digits directly do e \
     e.g enclose end ends enter exact exactly express expression false field fields final finally finish \
     first followed for form format formatted fraction full g give have here i.e identifier in include \
     inside integer interval is it its json just key keys label last latex letter letters like line lines \
     literal lower lowest may must n name nearest new no not notation nothing number numeric numerical \
     object of on one only option or out output own per percent percentage place places plain please point \
     present provide provided put python quotes radians radical readable reasoning reduced reply respond \
     response result return round rounded row separate set short should show sign significant simplest \
     simplified single solution standard starting starts state step steps string such tag tags terms text \
     that the then there there's think this through to true tuple two type under unit units up upper use \
     using valid value vector verdict which whole with within without word working wrap write x xml yes you \
     your zero",
);
/// Ways to ask for the way to an answer, which is shown before it.
pub(super) const WAYS: &str = "think step by step|reason step by step|think carefully|work it out|work step by step|\
     step by step|show your work|show your steps|think it through|reason carefully";
/// Phrases of a wish for more, in any sentence.
pub(super) static WISHES: PhraseSet = PhraseSet::of(
    "your reasons|the reasons|give reasons|state reasons|with justification|how so|what way|would be good|i'd love|i would love|would do|\
     i have no idea|i'd have|with reasons|with a reason|with sources|with examples|with an example|\
     your take|in your view|in your opinion|to your mind|must tell|must add|must include|always add|\
     always include|always end|always close|always tell|supply references|is appreciated|are appreciated|\
     be appreciated|would be nice|would be great|would be helpful|would help|are welcome|is welcome|\
     i'd like|i'd also|i would like|i would also|i also want|i want|i need to know|we want|we'd like|\
     we would like|line on each|sentence on each|it for me|them for me|this for me|if so|if not|if yes|\
     i need a|i need an|i need some|we need a|i am looking for|i'm looking for|any tips|any advice|\
     any ideas|any suggestions|any thoughts|any recommendations",
);
/// Words that begin a second question behind `and`, `or`, `but`, `then` or a comma.
pub(super) static SECOND: WordSet = WordSet::of(
    "might shall should why what how which who whom whose when where is are was were do \
     does did can could would will whether if",
);
/// Verbs by which a statement is known.
pub(super) static FINITE_VERBS: WordSet = WordSet::of(
    "is are was were has have had can cannot will must may does do did don't doesn't \
     isn't aren't means equals contains costs weighs starts ends takes lives",
);
/// How a question begins that is asked within a sentence without its mark.
pub(super) static QUESTIONS: PhraseSet = PhraseSet::of(
    "how many|how much|how long|how far|how old|how tall|what is|what are|what's|what’s|what was|what does|which is|which of|\
     who is|who was|when is|where is|how do|how can|how should|how to|how does|how did|why do|why is|why are|why does|should i|\
     should we|can i|can we",
);
/// Words for who asks.
pub(super) static FIRST_PERSON: WordSet = WordSet::of(
    "i i'm i’m i've i’ve i'd i’d i'll i’ll me my mine myself we we're we’re we've we’ve us our ours",
);
/// Words that may stand before the word that asks.
pub(super) static PREPOSITIONS: WordSet = WordSet::of("by on in at for with of from to under");
/// Words that no imperative begins with, so that `In a week …` is none.
pub(super) static NO_VERBS: WordSet = WordSet::of(
    "a an the in on at of for from with by to as if when while after before during since \
     until because although though and or but so then that this these those each every all both half some \
     any no not only just it he she they we you i there here what which who whose why how where is are was \
     were has have had do does did can could will would should may might must given let suppose assume \
     assuming imagine consider note per than between among into over under about like unlike despite inside \
     outside once twice today yesterday also even still however besides along within without using until \
     upon out off up down across through around behind near one",
);
/// Those of them that are words of other languages too.
pub(super) static ELSEWHERE: WordSet =
    WordSet::of("in an on so was will no do as per is of over under me us come");
/// Words behind a verb that make a sentence an order: `pick a laptop`.
pub(super) static OBJECTS: WordSet = WordSet::of(
    "a an the one two three some any all each both my your his her its our their me us \
     him it them which what whether how between exactly these those this that",
);
/// Openers that say nothing of what is asked.
pub(super) const OPENERS: &str = "please|now|then|also|and|so|finally|first|next|briefly|kindly|question:|instruction|\
     task:|problem:|can you|could you|would you";
/// Phrases of a question for a judgement, advice or an account.
pub(super) static OPEN_PHRASES: PhraseSet = PhraseSet::of(
    "and also|also its|also the|plus its|safest|easiest way|fastest way|along with|together with|coupled with|\
     accompanied by|as well as|preferably|ideally|optimally|including what|including how|including why|\
     including a|another word|other words|is it worth|be fair|too much for|too many for|with a short|\
     with some|with its|on what evidence|why|should i|should we|should he|should she|should they|should you|\
     should one|should a|should my|should our|should the|would you|do you think|do you recommend|\
     do you prefer|your opinion|your view|pros and cons|trade-off|tradeoff|advantages|disadvantages|\
     worth it|worth the|better|best|worse|worst|prefer|preferable|advisable|recommend|suggest|how do|\
     how does|how did|how can|how could|how would|how should|how to|how is|how are|what happens|\
     what are the|what causes|what do|what does it mean|difference between|differences|compare|explain|\
     describe|bad for|good for|wise|acceptable|ethical|moral|immoral|overrated|underrated|reason|what if|\
     what can|what could|what else|which of the two|appropriate|suitable",
);
/// Words whose difference is an amount.
pub(super) static AMOUNTS: WordSet = WordSet::of(
    "age ages price prices cost costs height heights weight weights length lengths score \
     scores amount amounts number numbers salary salaries income time times distance distances",
);
/// What such a phrase may begin without asking for that: what a program prints, what something is called.
pub(super) const NOT_OPEN: &[&str] = &[
    "what do you call",
    "what do we call",
    "should the output",
    "should be the output",
    "should the result",
    "should the answer",
    "should the code",
];
