/* SPDX-License-Identifier: MIT */
/*
 * The shared receive buffer of Documentation/library/srb.rst: senders, an owner,
 * and a ring of 4 slots of 2 words. tests/build/model explores every run of it,
 * in several configurations, and sees mutants of the protocol fail.
 *
 * A step is what another can see: a change of producer or consumer, a word of
 * the ring, a STAG that comes or goes. Between any two steps of a process the
 * others may make as many as they like; so a sender is as slow as can be.
 *
 * What is not a step of its own, and why nothing is lost by that:
 *  - Looks at the consumer that say "wait". A sender acts on what it knows, which
 *    may be as old as its last look: this has all runs in it where it looks after
 *    step 1, beside step 1, or not at all.
 *  - A put that fails. Its STAG is gone until the consumer is of a later epoch,
 *    which is what the sender waits for; so it waits where it is.
 *  - The owner's look at a record: nothing that is there changes until the owner
 *    clears it. Likewise from the time when it takes the STAG back to that when
 *    there is the next one: senders cannot do anything that they could not before.
 */

/* ---- Configuration: the runner sets some ---- */

#ifndef SENDERS
#define SENDERS	3
#endif
#ifndef RECORDS	/* of each sender, up to 4 */
#define RECORDS	2
#endif
#ifndef AHEAD	/* 1: a sender begins a record before the one before has ended */
#define AHEAD	0
#endif
#ifndef DEATHS	/* of senders */
#define DEATHS	0
#endif
#ifndef ENDS	/* epochs that the owner ends for no reason: a sender was slow */
#define ENDS	0
#endif
#ifndef SMALL	/* words of a record; it is the sender's choice */
#define SMALL	2
#endif
#ifndef LARGE
#define LARGE	4
#endif
#ifndef START	/* first place: the next epochs are 7 and, as they wrap, 0 */
#define START	(6 << OFFSET_BITS)
#endif
#ifndef RENEW	/* offset from which the owner ends an epoch of itself */
#define RENEW	24
#endif
#ifndef STAGS
#define STAGS	8
#endif

/* ---- Places and records: 8 bits stand for 64, words for bytes ---- */

#define RING		8
#define OFFSET_BITS	5
#define EPOCH(place)	(((place) & 255) >> OFFSET_BITS)
#define OFFSET(place)	((place) & ((1 << OFFSET_BITS) - 1))
#define LATER(a, b)	(((EPOCH(a) - EPOCH(b)) & 7) != 0 && ((EPOCH(a) - EPOCH(b)) & 7) < 4)
#define NEXT(place)	((((place) >> OFFSET_BITS) + 1 & 7) << OFFSET_BITS)

#define WORD(place)	ring[(place) & (RING - 1)]

/* A head says who sent which record: it stands for the payload, too. */
#define HEAD(pad, words, sender, number) \
	(512 | (pad) << 7 | (words) << 4 | (sender) << 2 | (number))
#define IS_HEAD(word)	(((word) & 512) != 0)
#define IS_PAD(head)	(((head) & 128) != 0)
#define WORDS(head)	(((head) >> 4) & 7)
#define SENDER(head)	(((head) >> 2) & 3)
#define NUMBER(head)	((head) & 3)
#define TAIL(place)	(256 | ((place) & 255))

/*
 * A payload may be anything: here it is what deceives most, a record as it would
 * lie there when the ring has gone round once more.
 */
#define NOBODY		3
#define PAYLOAD(place, word) \
	((word) == 1 -> HEAD(0, 2, NOBODY, 0) : TAIL((place) + 1 + RING))

/* ---- What all share ---- */

short ring[RING];
byte producer = START;
byte consumer = START;
byte stag = EPOCH(START) % STAGS;

/* Of a sender: its oldest record that has not ended, and the next one */
#define VACANT		0	/* step 1 is to come */
#define VOID		1	/* likewise, again */
#define RESERVED	2	/* has a place */
#define PADDING		3	/* has a place that is of no use */
byte state[2 * SENDERS];
byte place[2 * SENDERS];
byte words[2 * SENDERS];
byte written[2 * SENDERS];	/* of the words, so many lie in the ring */
byte known[SENDERS];	/* of the consumer; 0 to begin with */
byte ended[SENDERS];	/* records that have ended well */
bool dead[SENDERS];
bool begun[SENDERS];

byte delivered[SENDERS];
byte deaths = DEATHS;
byte ends = ENDS;

/* A claim is broken when what it says cannot be comes true. */
#define NEVER(fault)	assert(!(fault))
bool offset_overflows;
bool void_twice_in_an_epoch;
bool overrun;
bool abandoned;
bool invented;
bool torn;
bool twice;
bool lost_or_reordered;
bool lost;

/* ---- Sender: me; r is one of its two records ---- */

#ifdef MUTANT_ROOM_OFF_BY_ONE
#define ROOM	(RING + SMALL)
#else
#define ROOM	RING
#endif
#define HAS_ROOM(r, from) \
	(EPOCH(from) == EPOCH(place[r]) && ((place[r] + words[r] - (from)) & 255) <= ROOM)

#ifdef MUTANT_VOID_BY_WHAT_WAS_KNOWN
#define IS_VOID(r)	LATER(known[me], place[r])
#else
#define IS_VOID(r)	LATER(consumer, place[r])
#endif

/* The later record waits for the earlier one; padding for nothing. */
#define IS_FIRST(r)	(((r) & 1) == 0)
#ifdef MUTANT_EPOCHS_OUT_OF_ORDER
#define TURN(r) \
	(state[r] == PADDING || state[r] == RESERVED && written[r] < words[r] && \
	 (IS_FIRST(r) || EPOCH(place[(r) - 1]) != EPOCH(place[r])))
#else
#define TURN(r) \
	(state[r] == PADDING || state[r] == RESERVED && written[r] < words[r] && IS_FIRST(r))
#endif

/* Senders are alike: that they begin in the order of their numbers is no limit. */
#define MAY_BEGIN(r) \
	(state[r] <= VOID && ended[me] + ((r) & 1) < RECORDS && \
	 (IS_FIRST(r) || state[(r) - 1] == RESERVED) && \
	 (me == 0 || begun[me - 1] || dead[me - 1]))

/* Step 1. An epoch has one place for a record, or it could start over for ever. */
inline begin(r)
{
	void_twice_in_an_epoch = state[r] == VOID && !LATER(producer, place[r]);
	NEVER(void_twice_in_an_epoch);
	state[r] = RESERVED;
	place[r] = producer;
	producer = producer + words[r];
	offset_overflows = EPOCH(producer) != EPOCH(place[r]);
	NEVER(offset_overflows);
	begun[me] = true;
}

/* Step 3: one word comes to be seen. */
inline put(r)
{
	overrun = ((place[r] + written[r] - (EPOCH(place[r]) == EPOCH(consumer) ->
		consumer : NEXT(consumer))) & 255) >= RING;
	NEVER(overrun);
	if
	:: written[r] == 0 ->
		WORD(place[r]) = HEAD(state[r] == PADDING, words[r], me, ended[me] + ((r) & 1))
	:: written[r] > 0 && written[r] < words[r] - 1 ->
		WORD(place[r] + written[r]) = PAYLOAD(place[r], written[r])
	:: else ->
		WORD(place[r] + written[r]) = TAIL(place[r])
	fi;
	written[r] = written[r] + 1;
	if
	:: written[r] < words[r] -> skip
	:: else -> end(r)
	fi
}

inline end(r)
{
	if
	:: state[r] == PADDING -> start_over(r)
#ifndef MUTANT_END_NOT_AWAITED
	:: state[r] != PADDING && IS_FIRST(r) -> shift(r)
#endif
	:: else -> skip
	fi
}

inline start_over(r)
{
	state[r] = VACANT;
	place[r] = 0;
	written[r] = 0;
}

inline shift(r)
{
	ended[me] = ended[me] + 1;
	state[r] = state[r + 1];
	place[r] = place[r + 1];
	words[r] = words[r + 1];
	written[r] = written[r + 1];
	start_over(r + 1);
	words[r + 1] = 0
}

#if defined(MUTANT_NO_PADDING)
#define leave(r)	start_over(r)
#elif defined(MUTANT_PLACE_KEPT)
#define leave(r)	skip
#else
#define leave(r)	state[r] = PADDING
#endif

/* Step 4, and what it means for a later record */
inline give_up(r)
{
	written[r] = 0;
	if
	:: state[r] == PADDING -> start_over(r)
	:: else -> state[r] = VOID
	fi;
	if
	:: IS_FIRST(r) && state[r | 1] == RESERVED && EPOCH(place[r | 1]) != EPOCH(place[r]) ->
		leave(r | 1)
	:: else -> skip
	fi
}

#define RECORD(r) \
	:: d_step { MAY_BEGIN(r) && words[r] == 0 -> words[r] = SMALL; begin(r) } \
	:: d_step { MAY_BEGIN(r) && words[r] == 0 -> words[r] = LARGE; begin(r) } \
	:: d_step { MAY_BEGIN(r) && words[r] != 0 -> begin(r) } \
	:: d_step { TURN(r) && !HAS_ROOM(r, known[me]) && HAS_ROOM(r, consumer) -> \
		known[me] = consumer } \
	:: d_step { TURN(r) && HAS_ROOM(r, known[me]) && stag == EPOCH(place[r]) % STAGS -> \
		put(r) } \
	:: d_step { state[r] >= RESERVED && IS_VOID(r) -> give_up(r) }

/* What it had in mind is of no use to anybody. */
inline die()
{
	deaths--;
	dead[me] = true;
	known[me] = 0;
	start_over(2 * me);
	start_over(2 * me + 1);
	words[2 * me] = 0;
	words[2 * me + 1] = 0
}

active [SENDERS] proctype sender()
{
	byte me = _pid;

	do
#ifdef MUTANT_END_NOT_AWAITED
	:: d_step { words[2 * me] > 0 && written[2 * me] == words[2 * me] -> shift(2 * me) }
#endif
	RECORD(2 * me)
#if AHEAD
	RECORD(2 * me + 1)
#endif
	:: d_step { deaths > 0 && ended[me] < RECORDS -> die() }; break
	:: d_step { ended[me] == RECORDS -> known[me] = 0 }; break
	od
}

/* ---- Owner ---- */

#ifdef MUTANT_TAIL_NOT_CHECKED
#define TAIL_FITS(at)	true
#elif defined(MUTANT_TAIL_NOT_OF_THE_PLACE)
#define TAIL_FITS(at)	(WORD((at) + WORDS(WORD(at)) - 1) != 0)
#else
#define TAIL_FITS(at)	(WORD((at) + WORDS(WORD(at)) - 1) == TAIL(at))
#endif
#define IS_COMPLETE(at)	(IS_HEAD(WORD(at)) && TAIL_FITS(at))

/* Long before offsets come to their end */
#ifdef MUTANT_NO_RENEWAL
#define IS_DUE		false
#else
#define IS_DUE		(OFFSET(consumer) >= RENEW)
#endif

/* It is a live sender's turn: it will fill its place. */
#define HOLDS(r) \
	(!dead[(r) / 2] && state[r] >= RESERVED && place[r] == consumer)
#if SENDERS == 2
#define IS_HELD	(HOLDS(0) || HOLDS(1) || HOLDS(2) || HOLDS(3))
#else
#define IS_HELD	(HOLDS(0) || HOLDS(1) || HOLDS(2) || HOLDS(3) || HOLDS(4) || HOLDS(5))
#endif

#define HAS_ENDED(s)	(dead[s] || ended[s] == RECORDS)

inline take(at)
{
	size = WORDS(WORD(at));
	from = SENDER(WORD(at));
	if
	:: IS_PAD(WORD(at)) -> skip
	:: else -> check(at)
	fi;
#if !defined(MUTANT_CLEARED_LATE) && !defined(MUTANT_NOT_CLEARED)
	clear(at, size);
#endif
	from = 0
}

inline check(at)
{
	invented = from >= SENDERS;
	NEVER(invented);
	torn = size > 2 && WORD(at + 1) != PAYLOAD(at, 1) || size > 3 && WORD(at + 2) != PAYLOAD(at, 2) ||
		WORD(at + size - 1) != TAIL(at);
	NEVER(torn);
	twice = NUMBER(WORD(at)) < delivered[from];
	NEVER(twice);
	lost_or_reordered = NUMBER(WORD(at)) > delivered[from];
	NEVER(lost_or_reordered);
	delivered[from] = delivered[from] + 1
}

inline clear(at, count)
{
	for (i : 0 .. count - 1) {
		WORD(at + i) = 0
	}
	i = 0
}

/* c. What is complete is delivered, wherever it lies; RING of words are looked at. */
inline scan()
{
	size = 0;
	for (offset : 0 .. RING - 1) {
		if
		:: size == 0 && IS_COMPLETE(consumer + offset) -> take(consumer + offset)
		:: else -> skip
		fi;
		if
		:: size > 0 -> size--
		:: else -> skip
		fi
	}
	offset = 0;
	size = 0
}

/* Who lives does not leave a place empty for good. */
inline blame()
{
	abandoned = !dead[0] && !dead[1] && !dead[SENDERS - 1];
	NEVER(abandoned)
}

/* b to d. In a mutant others get in between c and b. */
#ifdef MUTANT_STAG_GONE_LATE
#define end_epoch(why) \
	d_step { why; scan() }; d_step { clear(0, RING); register() }; move_on()
#else
#define end_epoch(why) \
	d_step { why; scan(); clear(0, RING); register() }; move_on()
#endif

inline register()
{
	stag = EPOCH(NEXT(consumer)) % STAGS
}

inline move_on()
{
#if defined(MUTANT_CONSUMER_FIRST)
	consumer = NEXT(consumer);
	producer = consumer
#elif defined(MUTANT_PRODUCER_NOT_SWAPPED)
	consumer = NEXT(consumer)
#else
	producer = NEXT(consumer);
	consumer = NEXT(consumer)
#endif
}

active proctype owner()
{
	byte size, from, offset, i;

	do
#ifdef MUTANT_CLEARED_LATE
	:: d_step { IS_COMPLETE(consumer) && !IS_DUE -> take(consumer); consumer = consumer + size };
		d_step { clear(consumer - size, size); size = 0 }
#else
	:: d_step { IS_COMPLETE(consumer) && !IS_DUE -> take(consumer) };
		d_step { consumer = consumer + size; size = 0 }
#endif
	/* A dead sender's hole, and any other that takes too long */
#ifndef MUTANT_NO_PATIENCE
	:: end_epoch(!IS_COMPLETE(consumer) && producer != consumer && !IS_HELD -> blame())
#endif
	:: end_epoch(ends > 0 -> ends--)
	:: end_epoch(IS_DUE)
	:: HAS_ENDED(0) && HAS_ENDED(1) && HAS_ENDED(SENDERS - 1) && producer == consumer -> break
	od;
	lost = delivered[0] < ended[0] || delivered[1] < ended[1] ||
		delivered[SENDERS - 1] < ended[SENDERS - 1];
	NEVER(lost)
}
