"""Every constant by which the runtime adapts, in one table, each with its reason.

A `Rule` says how one kind of decision is made: how measurements are blended, how much cheaper another arm must be, how long
an arm is tried, and when a worse one is given up. What a kind does not use, it leaves at the default. `Sizes` are for decisions about
how many rows go together. Prices are what a piece of work is expected to take before it was measured; measurements correct them.
None of them can change an answer.

Reasons that name a figure come from the benchmarks: `cqc bench juggler` (orders, shapes), `cqc bench cacq` (filters),
`cqc bench teddies` (trains), `cqc bench jit` (feedback), `cqc bench pull` (kept results).
"""

from __future__ import annotations

from cqc.compiler.diagnostics.record import record

# Of the time since the last trial, the share that the next one may cost. It is known before the trial starts, so however
# wrong an estimate is, trials together take no more than this.
BUDGET = 0.02


@record
class Rule:
    """How one kind of decision is made."""

    # Measured cost
    newest: float = (
        0.3  # the weight of the newest measurement: three of them outweigh what was known
    )
    spike: float = (
        4.0  # one measurement counts at most so many times what is known: the rest is the machine
    )
    enough: int = 0  # units of work below which a measurement tells nothing
    enough_s: float = 0.0  # and seconds
    # Hysteresis
    clearly: float = (
        1.0  # another arm must be expected to cost less than this share of the present one
    )
    better: float = 1.0  # and then be measured to cost less than this share of what was before
    worse: float = 2.0  # an arm on trial that costs so many times what was before is left at once
    losses: int = 1  # trials in a row that an arm must lose before it is given up
    # When to try
    stretch: int = 1  # units of work from one look to the next, and how long a trial takes
    longest: int = 1  # units of work: pauses grow up to this
    again: int = 0  # decisions after which an arm that rests is measured again; 0: never
    nearly: float = float("inf")  # unless it seems so many times dearer
    budget: float = BUDGET


@record
class Sizes:
    """Between which bounds a number of rows that go together doubles and halves."""

    first: int
    least: int
    most: int
    starved: int  # times in a row that too few were there before it halves


# The shape of a join (`join/choice/shape_trials`): flat, or one of the trees. Unit: tuples.
SHAPE = Rule(
    clearly=0.6,  # the estimate takes conditions as independent: it is often off by a third
    better=0.9,  # less is noise of the clock
    stretch=256,  # joins that need another shape are dear: so few tuples already take milliseconds
    longest=1 << 20,
    enough_s=0.02,  # a trial that ends before the clock can tell would be decided by chance
)
SHAPE_MOST_ITEMS = 6  # beyond that there are too many sets of items to look at
SHAPE_KEPT = 3.0  # what a row costs that is kept in an index, when one that is made costs 1
SHAPE_CHECKED = 4.0  # a candidate whose theta condition a tree evaluates; the flat join has lists
# Tuples of the one item and of the other that are compared, pairs of them, and slots that are looked at: a look at three streams
# takes 1 ms with these, and finds the better of two shapes in the runs of `cqc bench juggler`.
SHAPE_FEW_TUPLES, SHAPE_MANY_TUPLES, SHAPE_MOST_PAIRS, SHAPE_MOST_SLOTS = 32, 2048, 2048, 4
FIRST_LOOK_S = (
    0.002  # what a look is taken to cost before the first one was timed: twice what it does
)

# Which hosts share a join node (`join/choice/split_trials`). Unit: tuples.
SHARING = Rule(
    clearly=0.8,  # the work that was counted is certain; only its price is estimated
    better=0.9,
    stretch=8_192,  # less is won than by another shape, so it takes more tuples to see
    longest=1 << 20,
    enough_s=0.02,
)
SHARING_DISTURBED = 4  # a quarter more or fewer slots: other queries than those that were measured
# In units of a candidate that is looked at (some 25 ns), from runs with lineages of 1, 16 and 79 words.
SHARING_ROW = 6.0  # a combination that is made of a candidate
SHARING_WORD = 0.04  # one more word of lineage, beside each
SHARING_TUPLE = 2.0  # a tuple that is filtered and stored
SHARING_CALL = 1_000.0  # a train of rows that is taken through a level
SHARING_PACKET = 1_500.0  # a packet that comes to a node
SHARING_SAMPLE = 256  # tuples that tell which host wants them
SHARING_MOST_CUTS = 16  # places of an order of hosts where a cut is tried

# By what a step of a join reaches its candidates, and in which order it takes its phases (`join/step/phase_order`). Unit: steps.
PHASES = Rule(
    clearly=0.7,  # candidates are counted on a few rows only
    enough=64,  # candidates
    stretch=16,  # steps between two decisions while phases are taken
    longest=64,  # and while the fused kernel is: it is right so often that asking costs more
    again=8,  # decisions for phases, then the fused kernel takes one step: rows may share more by now
)
PHASES_FUSED_ENOUGH = (
    2048  # candidates: the fused kernel goes through shared ones once, few tell nothing
)
PHASES_WORTH_S = 2e-5  # of a step: below that a decision costs more than it can save
PHASES_SAMPLE_ROWS, PHASES_SAMPLE_TUPLES = 32, 256  # that tell how many candidates there are
PHASES_FUSED_S, PHASES_PHASED_S = 1e-8, 3e-8  # a candidate, by the fused kernel and in phases
PHASES_ROW_S = 3e-7  # a row, in phases
PHASES_CALL_S = 2e-5  # a call of the fused kernel, whatever it finds
PHASES_STEP_S = 5e-5  # a step in phases: several kernels instead of one

# Which of several equalities says what chains a step walks (`join/step/probe_step`). Unit: tuples of the state.
CHAINS_FIRST_LOOK, CHAINS_NEXT_LOOK = 64, 4  # then when there are so many times as many
CHAINS_SAMPLE = 1_024  # the newest tuples, whose keys are counted in 50 us
CHAINS_CLEARLY = 0.7  # of the present length: the sample is small

# In which order a new tuple meets the other items of a join (`join/plan/item_order`, `join/execute/routed_join`). Unit: packets.
ITEM_ORDER = Rule(
    newest=0.4,  # windows fill and empty: old shares are soon wrong
    spike=float("inf"),  # counts, not times: the machine has no part in them
    clearly=1.0,
    stretch=16,  # packets of one start between two decisions; at first after 1, 2, 4 and 8
)
ITEM_SHARED = 2.0  # so many times the fan-out is accepted where other hosts take the step anyway
ITEM_THETA_SHARE, ITEM_TIME_SHARE = 0.3, 1.0  # of the tuples within reach, before any was met
ROUTING_DECAY = 0.9  # of tickets, for every packet: a change shows after some ten packets
ROUTING_SEED = 17  # any number; a run can be repeated

# Whether tuples are asked for company in time before they start (`join/execute/company`). Unit: packets.
COMPANY = Rule(
    losses=2,  # one packet in a dense stretch does not decide
    stretch=4,
    longest=256,
)
COMPANY_LEAST_ROWS = 512  # fewer are through the join as soon
COMPANY_LEAST_LOOKS = 64  # from so many on it is looked whether there is any company at all
COMPANY_MOST_TUPLES = (
    8  # tuples of other items for each that starts: a pass over them is some nanoseconds a tuple
)
COMPANY_MOST_LEFT = 0.8  # of the pairs: taking away a fifth pays for asking
COMPANY_SAMPLE = 256  # tuples of a packet that are asked first, until it is known to be worth it

# Which gates of a tree hold rows back (`join/tree/feedback_trials`). Unit: looks.
GATE = Rule(
    losses=3,  # one stretch that only the machine made slow does not decide
    stretch=8,  # looks that a gate rests at first
    longest=128,
    enough=64,  # rows asked about
)
GATE_LOOK_TUPLES = 2_000  # from one look to the next: some milliseconds of work
GATE_UNKNOWN_S = 1e-6  # a row's way up, where too few went it to be measured
GATE_WRITE_S, GATE_ASK_S = 1e-7, 2e-8  # to write a pair, to ask for one
GATE_MOST_PAIRS = 2  # gates for pairs at a join: the first drops most of what a third would

# Whether pairs are asked about before they are made (`join/execute/demand_join`). Unit: pairs.
DEMAND = Rule(
    stretch=2_000, longest=1 << 62
)  # a look after so many pairs, then after twice as many
DEMAND_LEAST_SHARE = 0.2  # of the pairs must be dropped: asking costs a fifth of making one
DEMAND_MOST = 2  # demands on a pair: what passes two will hardly fail at more

# From which side the grouped filter answers a packet (`filter/match_source`). Unit: packets.
FILTER_SIDE = Rule(
    newest=0.2,  # packets differ in what they hit
    enough_s=1e-5,  # of expected cost: shorter passes are the clock's own time
    again=32,  # packets, then the side that rests answers one
    nearly=4.0,  # a packet in 32 at four times the cost is the most that may be felt
)
LEAST_NOTES = 512  # matches that are noted while they are counted; more of them in larger packets, one a tuple
SIDE_SAMPLE = 256  # tuples whose candidates are counted
SIDE_ROW_S = 7.5e-9  # a conjunction on a block of 512 tuples, by the packet index
SIDE_CUT_S = 5e-9  # the row of a cut for a block
SIDE_CANDIDATE_S = 0.4e-9  # a tuple that meets a query in a list, by the access index
SIDE_TUPLE_S = 28e-9  # a tuple, by the access index

# In which order packets visit the filters of their stream (`filter/visit_order`). Unit: tuples.
VISITS = Rule(
    clearly=0.9,  # than visiting everything without asking: an order is worked out on a sample
    stretch=1 << 15,  # tuples between two samples while things change
    longest=1 << 20,
    enough=512,  # tuples whose visit tells what one costs
)
VISITS_ALIKE = 0.1  # orders whose expected costs differ by no more are alike: no change
VISITS_SURPRISE = 0.15  # a gate that lets in so much more or less than expected: sample again
VISITS_SAMPLE_TUPLES, VISITS_SAMPLE_QUERIES = 256, 128
VISITS_OPEN_SHARE = 0.8  # of the tuples: where a gate lets in more, picking them out does not pay
VISITS_MOST_WORK = 1 << 12  # rows of a gate that is asked, whatever it may save
VISITS_ROW_S = 8e-9  # a row of a gate and a block of tuples
VISITS_BLOCK_S = 4e-7  # the block itself
VISITS_GATE_S = 5e-5  # to ask a gate at all
VISITS_PICKED_S = 1.5e-8  # a tuple that is picked out to visit a filter
VISITS_FIXED = 256  # a visit costs as much as so many tuples before it has seen one
VISITS_FIRST_S, VISITS_LEAST_S = 3e-9, 1e-9  # a tuple, before it was measured, and at least
# The clock of a thread takes 5 us to read, and many times that on a busy machine: the first visits are timed, then few.
VISITS_ALWAYS_TIMED, VISITS_TIMED = 8, 16

# Under which of its grams a literal is entered (`filter/literal_search`). Unit: searches.
GRAMS_SAMPLED_BYTES = (
    1 << 16
)  # of text, that tell which grams are common: counting them is some 0.1 ms
GRAMS_DEAR = 8  # with more than one comparison in so many bytes, comparing costs more than reading: choose anew
GRAMS_PATIENCE = 64  # searches before they are chosen anew once more: entering all literals costs several searches

# Whether results of a pull query are kept as tuples come (`pull/body_results`). Unit: tuples.
MAINTENANCE = Rule(enough=1 << 17)  # tuples that nobody asked about before results are dropped
# When outputs of kept results lie ready (`pull/pull_clause`). Unit: rows.
READY_ASKING = 64  # asking costs as much as so many rows
READY_AFTER = 256  # rows that are asked for beyond those there are

# How many new tuples enter together (`packet_size`): calls cost little beside so many, and a packet still fits the caches.
PACKETS = Sizes(first=16_384, least=8_192, most=1 << 20, starved=4)
# How many partial combinations go on together (`join/execute/metaqueues`).
TRAINS = Sizes(
    first=512,  # rows beside whose work the call of a level costs little
    least=1,
    most=4_096,
    starved=8,  # trains of others while a queue waits
)
TRAIN_FIRST_MOST, TRAIN_MOST = 64, 16_384  # rows: at first it is not known what they make
TRAIN_TRUST = 256  # trains after which larger ones are tried again, where one gave up
TRAIN_BYTES = (
    1 << 19
)  # of what a level makes of one train: more leaves the caches and costs twice as much a row
