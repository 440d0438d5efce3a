"""Word lists of the rules: closed classes of English, and small open ones."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PRONOUNS = _words(
    "i me we us you he him she her it they them this that these those one ones something anything "
    "everything nothing someone anyone everyone somebody anybody everybody nobody mine yours his "
    "hers theirs myself yourself himself herself itself themselves ourselves so such much many "
    "more most all both each which who whom whose what when where why how there here"
)
DETERMINERS = _words("a an the my our some any another his her their")

ADVERBS = _words(
    "really absolutely actually also always just still currently now recently mostly usually "
    "mainly finally only totally definitely generally typically often sometimes normally already "
    "personally honestly truly quite rather pretty very so especially particularly even probably "
    "simply basically primarily both first originally officially temporarily happily successfully "
    "lately nowadays today regularly occasionally rarely strongly much kinda sorta"
)
TRAILING = (
    "too",
    "also",
    "as well",
    "a lot",
    "lots",
    "very much",
    "so much",
    "the most",
    "the best",
    "best",
    "now",
    "these days",
    "nowadays",
    "lately",
    "right now",
    "at the moment",
    "currently",
    "anymore",
    "any more",
    "any longer",
    "again",
    "though",
    "lol",
    "haha",
    "btw",
    "by the way",
    "please",
    "instead",
    "either",
    "already",
    "so far",
    "recently",
    "actually",
    "mostly",
    "usually",
    "daily",
    "every day",
    "all the time",
    "for now",
    "full time",
    "full-time",
    "part time",
    "part-time",
    "remotely",
    "i think",
)

# What opens a question when it opens a clause.
QUESTION_OPENERS = _words(
    "what what's which who who's whose whom how how's why when where where's can could should "
    "would will shall may might must do does did don't doesn't didn't is are am was were isn't "
    "aren't wasn't weren't have has had haven't hasn't won't wouldn't couldn't shouldn't any "
    "anything ideas"
)

# What makes a clause say how things might be, not how they are.
HYPOTHETICAL = (
    "if",
    "unless",
    "maybe",
    "perhaps",
    "possibly",
    "probably",
    "hypothetically",
    "suppose",
    "supposing",
    "assuming",
    "imagine",
    "pretend",
    "in case",
    "as if",
    "as though",
    "i wish",
    "what if",
    "let's say",
    "lets say",
    "say i",
    "thinking of",
    "thinking about",
    "considering",
    "wondering",
    "whether",
    "not sure",
    "i guess",
    "i think",
    "i believe",
    "i suppose",
    "i doubt",
    "i hope",
    "i heard",
    "i bet",
    "apparently",
    "tempted",
    "kidding",
    "joking",
    "someday",
    "one day",
)

# Orders to work on a text: what follows them is not said by the user of themselves.
TEXT_ORDERS = _words(
    "translate rewrite rephrase proofread summarize summarise paraphrase correct edit complete "
    "continue write draft compose imagine pretend suppose assume act roleplay role-play quote "
    "analyze analyse classify fix generate reply respond create parse extract convert format"
)

KIN = _words(
    "mother father mom mum dad mama papa parent sister brother sibling wife husband spouse "
    "partner girlfriend boyfriend fiance fiancee fiancé fiancée son daughter kid child baby twin "
    "uncle aunt cousin nephew niece grandmother grandfather grandma grandpa grandson "
    "granddaughter stepfather stepmother stepson stepdaughter mother-in-law father-in-law "
    "sister-in-law brother-in-law"
)
ROLES = KIN | _words(
    "boss manager supervisor lead ceo cto cfo founder co-founder cofounder colleague coworker "
    "co-worker teammate friend bestie buddy pal neighbor neighbour roommate flatmate housemate "
    "landlord landlady teacher professor tutor mentor coach trainer instructor advisor doctor "
    "dentist therapist physio nurse lawyer accountant client customer intern assistant nanny "
    "babysitter ex ex-wife ex-husband bandmate classmate"
)
PLURAL_KIN = _words(
    "kids children sons daughters sisters brothers siblings twins parents cousins nephews nieces "
    "grandchildren grandkids boys girls"
)
PETS = _words(
    "dog dogs puppy puppies pup pups cat cats kitten kittens parrot hamster rabbit bunny turtle "
    "turtles tortoise horse pony goldfish fish bird snake lizard gecko guinea-pig ferret chickens"
)
_DISEASES = _words(
    "diabetes asthma adhd autism anxiety depression migraines migraine arthritis epilepsy celiac "
    "hypertension insomnia eczema dyslexia psoriasis endometriosis allergy allergies intolerance "
    "hypothyroidism ibs tinnitus sciatica anemia anaemia"
)
HEALTH = _DISEASES | {
    "high blood pressure",
    "low blood pressure",
    "high cholesterol",
    "heart condition",
    "heart disease",
    "chronic pain",
    "back pain",
    "bad back",
    "bad knee",
    "sweet tooth",
}
BUSINESSES = _words(
    "bakery cafe café shop store restaurant bar business company startup studio farm podcast blog "
    "newsletter channel agency consultancy nonprofit charity hostel hotel gym bookshop bookstore "
    "brewery salon clinic practice gallery magazine"
)
BELONGINGS = _words(
    "car bike bicycle motorcycle motorbike van truck house home flat apartment condo cottage "
    "cabin boat garden allotment piano guitar violin cello degree phd master's bachelor's "
    "mortgage visa passport podcast blog newsletter channel startup company business shop store "
    "bakery studio farm"
)
# States that "I am …" can assert for long.
TRAITS = _words(
    "vegetarian vegan pescatarian diabetic celiac coeliac colorblind colourblind color-blind "
    "colour-blind left-handed right-handed ambidextrous lactose-intolerant gluten-free teetotal "
    "pregnant married divorced widowed single engaged retired unemployed self-employed freelance "
    "freelancing deaf blind dyslexic autistic neurodivergent bilingual trilingual introverted "
    "extroverted gay lesbian bisexual transgender trans asexual catholic christian muslim jewish "
    "buddhist hindu atheist agnostic asthmatic nearsighted halal kosher"
)
TRAIT_NOUNS = _words(
    "vegetarian vegan pescatarian introvert extrovert lefty diabetic widow widower teetotaler "
    "christian muslim buddhist hindu atheist feminist minimalist perfectionist parent mother "
    "father mom dad grandmother grandfather twin veteran immigrant refugee homeowner night-owl "
    "beginner"
)
JOBS = _words(
    "nurse chef cook pilot clerk judge surgeon vet plumber electrician carpenter mechanic farmer "
    "student teacher doctor lawyer engineer developer programmer designer architect artist "
    "musician writer author journalist editor translator accountant analyst consultant manager "
    "director founder ceo cto freelancer contractor researcher scientist professor lecturer "
    "postdoc paramedic firefighter soldier officer barista waiter waitress bartender hairdresser "
    "photographer videographer filmmaker actor actress dancer coach trainer therapist "
    "psychologist dentist pharmacist librarian receptionist secretary salesperson realtor "
    "marketer recruiter intern apprentice economist statistician mathematician physicist chemist "
    "biologist geologist astronomer historian linguist philosopher sysadmin admin sre devops "
    "tester dba streamer gamer athlete swimmer runner welder tailor baker butcher driver guide "
    "diplomat politician technician midwife physiotherapist optician interpreter illustrator "
    "animator composer producer curator"
)
JOB_ENDINGS = ("engineer", "developer", "scientist", "manager", "ologist", "officer", "therapist")

DEMONYMS = _words(
    "american british english scottish welsh irish canadian australian french german spanish "
    "italian portuguese dutch belgian swiss austrian polish czech slovak hungarian romanian "
    "bulgarian greek turkish russian ukrainian swedish norwegian danish finnish icelandic "
    "estonian latvian lithuanian serbian croatian slovenian bosnian albanian georgian armenian "
    "israeli egyptian moroccan tunisian algerian nigerian kenyan ghanaian ethiopian indian "
    "pakistani bangladeshi nepali chinese japanese korean taiwanese thai vietnamese indonesian "
    "malaysian filipino singaporean mexican brazilian argentinian argentine chilean colombian "
    "peruvian venezuelan cuban iranian iraqi syrian lebanese jordanian saudi catalan basque "
    "european asian"
)
LANGUAGES = DEMONYMS | _words(
    "mandarin cantonese hindi urdu bengali tamil telugu arabic farsi persian hebrew swahili "
    "tagalog latin esperanto malay afrikaans yiddish zulu"
)
TECHNOLOGIES = _words(
    "python java javascript typescript rust go golang c c++ c# ruby php perl scala kotlin swift "
    "haskell elixir erlang clojure lua julia r sql html css bash docker kubernetes terraform "
    "ansible aws azure gcp linux unix windows macos git github gitlab react vue angular svelte "
    "django flask fastapi rails spring node node.js postgres postgresql mysql sqlite redis "
    "mongodb kafka excel photoshop figma blender unity tableau matlab latex pytorch tensorflow "
    "numpy pandas dynamodb graphql opencv spark hadoop airflow jenkins nginx graphana prometheus "
    "vim emacs wordpress"
)

# Capitalised words that open a sentence and name nobody.
NOT_NAMES = _words(
    "the a an this that these those it its he she they we you i my our your his her their there "
    "here what which who how why when where if in on at for from to with by as and but or so "
    "because since after before while although though until unless not no yes yeah yep nope ok "
    "okay sure thanks thank hi hey hello wow oh ah cool great nice good awesome well sorry please "
    "maybe perhaps people everyone everybody someone somebody nobody anyone something nothing "
    "everything most many some all both each every one two three first last next today tomorrow "
    "yesterday now then also just really actually honestly currently monday tuesday wednesday "
    "thursday friday saturday sunday january february march april may june july august september "
    "october november december work life love time coffee tea music money food school college "
    "university note remember let lets let's can could would should will do does did is are was "
    "were have has had by dear sounds looks seems glad congrats congratulations absolutely "
    "definitely totally good-bye bye yup aww haha lol being having going getting taking nature "
    "pets kids dogs cats friends family art dance dancing btw fyi mom dad god internet"
)

# Verbs that may follow "want to" and still state a goal, not a request to the agent.
GOAL_VERBS = _words(
    "learn become run build start launch visit travel move write publish finish complete lose "
    "gain improve quit stop save buy open create grow master study graduate retire climb hike "
    "swim qualify win reach read adopt retrain switch lead earn pass speak play get eat sleep "
    "exercise"
)
COFFEE_ROASTS = _words("light medium dark french italian city blonde vienna espresso")
# What says nothing about whether two texts are on the same thing.
STOP_WORDS = _words(
    "a an the i me my mine you your we our us it its is are am was were be been do does did have "
    "has had of to in on at for from with and or but not what which who whom whose where when why "
    "how can could should would will shall may might this that these those there here about as by "
    "so if than then user said prefers knows uses any some"
)
NICE = _words(
    "relaxing fascinating delightful fun enjoyable therapeutic calming soothing interesting "
    "inspiring"
)
TIRESOME = _words(
    "exhausting annoying boring tedious awful terrible frustrating confusing disgusting dull "
    "stressful painful overwhelming horrible unbearable irritating"
)
HOBBIES = _words(
    "yoga pilates karate judo crossfit ballet meditation boxing taekwondo aikido gymnastics "
    "weightlifting calisthenics ceramics pottery woodworking photography gardening"
)
