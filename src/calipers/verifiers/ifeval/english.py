"""A little knowledge of English for ``sentences``, for when nltk's own parameters are not installed.

Written for calipers: usual abbreviations of American newspaper English, and how some hundred frequent words are written.
It splits as nltk's parameters do on ordinary text (figures in docs/ifeval.md); rare words after an abbreviation, an
initial or an ellipsis are where the two can differ.
"""

from __future__ import annotations

from calipers.verifiers.ifeval.sentences import LOWER, LOWER_OPENING, UPPER_INSIDE, Parameters

# Of the single letters, those that are more often an initial than the end of a sentence.
_ABBREVIATIONS = """
mr mrs ms dr prof jr sr messrs ph.d st ft ct ave sen rep reps col maj adm
co corp inc ltd bros cos cie vs ok
a.m p.m u.s u.s.a u.k u.n d.c l.a n.y n.c n.d n.h n.j n.m s.c w.va r.i
jan feb aug sept sep oct nov dec tues wed fri
ala ariz calif colo conn fla ga ill kan ky mich minn nev okla ore pa tenn va vt wash wis
c d e f g h k l m n p r s t v w
j.k j.r
"""

_OPENERS = ("i", "in")
"""Words that open a sentence after an abbreviation although they are also written with a capital inside one."""

_PLAIN = """
about above accordingly across actually additionally afterward afterwards again ago almost alone already also although
altogether always am amid among another anyone anything anyway apparently are around as ask asked at away back basically
be because become becomes been before begin behind being below beneath besides better between beyond both bring brings
but call came can cannot carefully certainly clearly come comes consequently consider could created currently
definitely despite did do does done doubtless down due during each earlier easily eat either else enough especially
essentially ever every everybody everyone everything evidently except exactly explore feel few finally find following
forget fortunately frequently from furthermore generally get give given gives go goes gone got gradually had happily
hardly has have having he hence her here hers herself hey hopefully how however if immediately inside instead is it
its itself just keep knowing knows later lately least let likewise look looking made make makes many maybe me
meanwhile mere might moreover mostly much must my myself namely naturally nearly need neither never nevertheless nobody
none nonetheless nor not nothing now nowhere obviously occasionally often only or other others otherwise ought our ours
outside own perhaps please possibly probably quickly quietly quite rarely rather recently regardless remember said says
see seem seemed seems several shall she should similarly simply since slowly so some somebody somehow someone something
sometimes somewhat soon still such suddenly surely take takes tell than that their theirs them themselves then there
thereafter thereby therefore these they things think this those though thousands through throughout thus together
tomorrow too towards truly try two unfortunately unless unlike until upon us use using usually very was we well went
were what whatever when whenever where whereas wherever whether which while who whoever whom whose why will with within
without wonder would yes yesterday yet you your yours yourself
accept add additional adopt advance apply approach argue avoid awareness background balance based begin
benefit benefits bit brief briefly build calculate case cause causes challenge challenges change changes
character characters check choice choose claim clear climate close closing collect comment common communication compare
comparison concept conclude conclusion conduct confirm consequence consequences contact content context contribute cost
create creating critical cultural culture current customer define definition demonstrate describe description
design detail details develop developing development discuss discussion display early education effect effective effects
emphasize encourage engage ensure environmental establish evaluate evaluation evidence example examples exercise
experience explain explanation exploration exploring express factors feature features feedback figure focus
following form foster future gather goal goals group growth guide health highlight historical history hook idea
identify impact implement implications importance important improve include increase individual influence inform
information innovative input inspiration integrate interview introduce introducing introduction invite issue issues job
key language leadership learn learning lecture lesson limit limitations list listen literature location main maintain
making manage market material method methods modern monitor motivation movie multiple music natural nature negative
network note number objective objectives observe offer open opening opportunity option options organize origin origins
outline output paper pay perform personal plan planning play plot point points political positive possible
practical practice preparation prepare present presentation price problem process produce product promote
proper provide purpose quality question questions reason reasons recommend reduce reference reflect related
relationship repeat report research resources respect response result results review reward rich role rubric rules sample
scope score screen section select sell send series serve session set setting share short show significance skill skills
social solution solve song source special start state statement step steps story strategy strength structure student study
style subject suggest summary supply support symbolism table talk teach teacher team technical technique
techniques test text theme themes theory thesis tips title tool tools topic topics traditional train training treatment type types understand understanding unique update usage useful value variable variety view visit visual
watch water ways welcome word words work workers write writing
adaptation analysis basil bit civil sustainable examination thank early final into right through very
"""

_ALSO_IN_TITLES = """
a after against all an and any are best big by day end first for general good great high home house how in
international last life like little long love man may more most next no of off old on once one our out over part
people real second small state that the then three time to today under up what where who will women
world year young
"""


def built_in() -> Parameters:
    """The built-in parameters; ``name`` is ``built-in``."""
    plain = dict.fromkeys(_PLAIN.split(), LOWER & ~LOWER_OPENING)
    titles = dict.fromkeys(_ALSO_IN_TITLES.split(), UPPER_INSIDE | LOWER & ~LOWER_OPENING)
    return Parameters(
        name="built-in",
        abbreviations=frozenset(_ABBREVIATIONS.split()),
        collocations=frozenset({("##number##", "international"), ("##number##", "review")}),
        starters=frozenset(_OPENERS),
        written=plain | titles,
    )
