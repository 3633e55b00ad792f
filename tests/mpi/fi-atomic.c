/* SPDX-License-Identifier: MIT */
/*
 * The libfabric provider: atomic operations on others' memory, and counters.
 */
#include "fi-remote.h"

#include <string.h>

/* ---- What there is ---- */

#define TYPES 4
#define OPS 6

static const enum fi_datatype types[TYPES] = { FI_INT32, FI_UINT32, FI_INT64, FI_UINT64 };
static const enum fi_op ops[OPS] = { FI_SUM, FI_BOR, FI_BAND, FI_BXOR, FI_ATOMIC_WRITE,
				     FI_ATOMIC_READ };

static bool narrow(enum fi_datatype type)
{
	return type == FI_INT32 || type == FI_UINT32;
}

static bool supported(enum fi_datatype type, enum fi_op op, uint64_t flags)
{
	bool typed = false, fetched = op == FI_ATOMIC_READ && flags & FI_FETCH_ATOMIC;

	for (int i = 0; i < TYPES; i++)
		typed = typed || type == types[i];
	if (flags & FI_COMPARE_ATOMIC)
		return typed && op == FI_CSWAP;
	for (int i = 0; i < OPS; i++)
		fetched = fetched || (op == ops[i] && op != FI_ATOMIC_READ);
	return typed && fetched;
}

static int valid_one(enum fi_datatype type, enum fi_op op, uint64_t flags, bool expected)
{
	struct fi_atomic_attr attr = { 0 };
	size_t count = 0;
	int ret;

	if (flags & FI_COMPARE_ATOMIC)
		ret = fi_compare_atomicvalid(port.ep, type, op, &count);
	else if (flags & FI_FETCH_ATOMIC)
		ret = fi_fetch_atomicvalid(port.ep, type, op, &count);
	else
		ret = fi_atomicvalid(port.ep, type, op, &count);
	if (ret != (expected ? 0 : -FI_EOPNOTSUPP))
		fprintf(stderr, "# rank %d: type %d, op %d, flags %#llx: %d\n", rank, type, op,
			(unsigned long long)flags, ret);
	TEST(ret == (expected ? 0 : -FI_EOPNOTSUPP));
	TEST(fi_query_atomic(own_domain, type, op, &attr, flags) == ret);
	if (expected)
		TEST(count == 1 && attr.count == 1 && attr.size == (narrow(type) ? 4 : 8));
	return 0;
}

static int valid(void)
{
	const uint64_t flags[] = { 0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC };
	const bool all = machine_has_atomics();

	RUN(memory_open(VIRTUAL, NULL));
	for (int i = 0; i < 3; i++)
		for (int type = 0; type < FI_DATATYPE_LAST; type++)
			for (int op = 0; op < FI_ATOMIC_OP_LAST; op++)
				RUN(valid_one(type, op, flags[i],
					      all && supported(type, op, flags[i])));
	return all_close();
}

/* ---- Operations on the right's memory ---- */

static ssize_t update(int to, enum fi_datatype type, enum fi_op op, const void *with,
		      uint64_t at, struct done *done)
{
	return RETRY(fi_atomic(port.ep, with, 1, NULL, port.peer[to], places[to].at + at,
			       places[to].key, type, op, done));
}

static ssize_t fetch(int to, enum fi_datatype type, enum fi_op op, const void *with,
		     void *result, uint64_t at, struct done *done)
{
	return RETRY(fi_fetch_atomic(port.ep, with, 1, NULL, result, NULL, port.peer[to],
				     places[to].at + at, places[to].key, type, op, done));
}

static ssize_t compare_swap(int to, enum fi_datatype type, const void *with, const void *same,
			    void *result, uint64_t at, struct done *done)
{
	return RETRY(fi_compare_atomic(port.ep, with, 1, NULL, same, NULL, result, NULL,
				       port.peer[to], places[to].at + at, places[to].key, type,
				       FI_CSWAP, done));
}

/* Where there are none, each call says it. */
static int all_refused(void)
{
	uint64_t word = 1, result = 0;

	TEST(update(right, FI_UINT64, FI_SUM, &word, 0, NULL) == -FI_EOPNOTSUPP);
	TEST(fetch(right, FI_INT32, FI_BOR, &word, &result, 0, NULL) == -FI_EOPNOTSUPP);
	TEST(compare_swap(right, FI_UINT32, &word, &word, &result, 0, NULL) == -FI_EOPNOTSUPP);
	TEST(fi_inject_atomic(port.ep, &word, 1, port.peer[right], places[right].at,
			      places[right].key, FI_INT64, FI_SUM) == -FI_EOPNOTSUPP);
	RUN(together());
	return all_close();
}

/* With words of all; the rest of a test is for where there are atomics. */
#define ATOMICS_OPEN(mode, words, bytes)               \
	do {                                           \
		RUN(memory_open(mode, NULL));          \
		RUN(expose(words, bytes, ANY_ACCESS)); \
		if (!machine_has_atomics())            \
			return all_refused();          \
	} while (0)

#define BEFORE 0x8f00ff00f0f01234ull
#define WITH 0x715500ff9ff0ffffull
#define BESIDE 0xeeeeeeeeeeeeeeeeull
#define LOW 0xffffffffull

static uint64_t after(enum fi_datatype type, enum fi_op op)
{
	const uint64_t wide = op == FI_SUM	    ? BEFORE + WITH :
			      op == FI_BOR	    ? BEFORE | WITH :
			      op == FI_BAND	    ? BEFORE & WITH :
			      op == FI_BXOR	    ? BEFORE ^ WITH :
			      op == FI_ATOMIC_WRITE ? WITH :
						      BEFORE;

	return narrow(type) ? (wide & LOW) | (BEFORE & ~LOW) : wide;
}

/* Each kind has a word of its own, and one beside it. */
static int each_update(enum fi_datatype type, bool fetched, uint64_t *words)
{
	const uint64_t with = WITH, old = narrow(type) ? (BEFORE & LOW) | (BESIDE & ~LOW) : BEFORE;
	struct done done = { 0 };

	for (int i = 0; i < 2 * OPS; i++)
		words[i] = i % 2 ? BESIDE : BEFORE;
	RUN(together());
	for (int i = 0; i < OPS; i++) {
		uint64_t result = BESIDE;

		if (!supported(type, ops[i], fetched ? FI_FETCH_ATOMIC : 0))
			continue;
		TEST(!(fetched ? fetch(right, type, ops[i], ops[i] == FI_ATOMIC_READ ? NULL : &with,
				       &result, 16u * (unsigned int)i, &done) :
				 update(right, type, ops[i], &with, 16u * (unsigned int)i, &done)));
		RUN(ended_as(&done, FI_ATOMIC | (fetched ? FI_READ : FI_WRITE)));
		TEST(result == (fetched ? old : BESIDE));
	}
	RUN(together());
	for (int i = 0; i < OPS; i++)
		TEST(words[2 * i] == after(type, ops[i]) && words[2 * i + 1] == BESIDE);
	return together();
}

static int each_kind(int mode, bool fetched)
{
	uint64_t *words = room(16 * OPS);

	ATOMICS_OPEN(mode, words, 16 * OPS);
	for (int i = 0; i < TYPES; i++)
		RUN(each_update(types[i], fetched, words));
	return all_close();
}

static int updates(void)
{
	RUN(each_kind(VIRTUAL, false));
	return each_kind(OFFSETS, false);
}

static int fetches(void)
{
	RUN(each_kind(VIRTUAL, true));
	return each_kind(OFFSETS, true);
}

static int swap_one(enum fi_datatype type, uint64_t same, uint64_t *word)
{
	const uint64_t mask = narrow(type) ? LOW : ~0ull, with = WITH;
	const bool equal = (same & mask) == (BEFORE & mask);
	struct done done = { 0 };
	uint64_t result = BESIDE;

	word[0] = BEFORE;
	word[1] = BESIDE;
	RUN(together());
	TEST(!compare_swap(right, type, &with, &same, &result, 0, &done));
	RUN(ended_as(&done, FI_ATOMIC | FI_READ));
	TEST(result == ((BEFORE & mask) | (BESIDE & ~mask)));
	RUN(together());
	TEST(word[0] == (equal ? (WITH & mask) | (BEFORE & ~mask) : BEFORE));
	TEST(word[1] == BESIDE);
	return together();
}

static int swaps(void)
{
	uint64_t *word = room(16);

	ATOMICS_OPEN(VIRTUAL, word, 16);
	for (int i = 0; i < TYPES; i++) {
		RUN(swap_one(types[i], BEFORE, word));
		RUN(swap_one(types[i], BEFORE ^ 1, word));
		RUN(swap_one(types[i], BEFORE ^ 1ull << 31, word));
		RUN(swap_one(types[i], BEFORE ^ 1ull << 63, word));
	}
	return all_close();
}

/* ---- The other calls ---- */

static int by_message(uint64_t *with, uint64_t *same, uint64_t *result)
{
	const struct fi_ioc from = { with, 1 }, equal = { same, 1 };
	const struct fi_rma_ioc remote = { places[right].at, 1, places[right].key };
	struct fi_msg_atomic message = {
		.msg_iov = &from,
		.iov_count = 1,
		.addr = port.peer[right],
		.rma_iov = &remote,
		.rma_iov_count = 1,
		.datatype = FI_UINT64,
		.op = FI_SUM,
	};
	struct fi_ioc to = { result, 1 };
	struct done done = { 0 };

	message.context = &done;
	TEST(!RETRY(fi_atomicmsg(port.ep, &message, FI_COMPLETION)));
	RUN(ended_as(&done, FI_ATOMIC | FI_WRITE));
	TEST(!RETRY(fi_atomicmsg(port.ep, &message, FI_INJECT | FI_COMPLETION)));
	RUN(ended_as(&done, FI_ATOMIC | FI_WRITE));
	TEST(!RETRY(fi_fetch_atomicmsg(port.ep, &message, &to, NULL, 1, 0)));
	RUN(ended_as(&done, FI_ATOMIC | FI_READ));
	TEST(*result == 2 * *with);
	message.op = FI_CSWAP;
	*same = 3 * *with;
	TEST(!RETRY(fi_compare_atomicmsg(port.ep, &message, &equal, NULL, 1, &to, NULL, 1, 0)));
	RUN(ended_as(&done, FI_ATOMIC | FI_READ));
	TEST(*result == *same);
	return 0;
}

static int by_vector(uint64_t *with, uint64_t *same, uint64_t *result)
{
	const struct fi_ioc from = { with, 1 }, equal = { same, 1 };
	const struct place *at = &places[right];
	fi_addr_t peer = port.peer[right];
	struct fi_ioc to = { result, 1 };
	struct done done = { 0 };

	TEST(!RETRY(fi_atomicv(port.ep, &from, NULL, 1, peer, at->at, at->key, FI_UINT64, FI_SUM,
			       &done)));
	RUN(ended_as(&done, FI_ATOMIC | FI_WRITE));
	TEST(!RETRY(fi_fetch_atomicv(port.ep, &from, NULL, 1, &to, NULL, 1, peer, at->at, at->key,
				     FI_UINT64, FI_SUM, &done)));
	RUN(ended_as(&done, FI_ATOMIC | FI_READ));
	TEST(*result == 2 * *with);
	*same = 3 * *with;
	TEST(!RETRY(fi_compare_atomicv(port.ep, &from, NULL, 1, &equal, NULL, 1, &to, NULL, 1,
				       peer, at->at, at->key, FI_UINT64, FI_CSWAP, &done)));
	RUN(ended_as(&done, FI_ATOMIC | FI_READ));
	TEST(*result == *same);
	return 0;
}

static int other_calls(void)
{
	uint64_t *word = room(8), with = 1ull << 40 | (uint64_t)(rank + 1), same = 0, result = 0;
	const uint64_t lefts = 1ull << 40 | (uint64_t)(left + 1);
	uint64_t since;

	ATOMICS_OPEN(VIRTUAL, word, 8);
	RUN(by_message(&with, &same, &result));
	RUN(by_vector(&with, &same, &result));
	RUN(together());
	TEST(*word == lefts);
	RUN(together());
	for (int i = 0; i < 100; i++) {
		uint64_t one = 1;

		TEST(!RETRY(fi_inject_atomic(port.ep, &one, 1, port.peer[right], places[right].at,
					     places[right].key, FI_UINT64, FI_SUM)));
		one = 12345;
	}
	since = clock_ms();
	while (*(volatile uint64_t *)word != lefts + 100 && !late(since))
		poll_all();
	TEST(*word == lefts + 100 && !port.errors && !port.strays);
	RUN(together());
	return all_close();
}

static int not_supported(void)
{
	uint64_t *word = room(16), with[2] = { 1, 2 }, result[2] = { 0 };
	ssize_t ret;

	ATOMICS_OPEN(VIRTUAL, word, 16);
	TEST(update(right, FI_UINT64, FI_PROD, with, 0, NULL) == -FI_EOPNOTSUPP);
	TEST(update(right, FI_DOUBLE, FI_SUM, with, 0, NULL) == -FI_EOPNOTSUPP);
	TEST(update(right, FI_UINT64, FI_ATOMIC_READ, with, 0, NULL) == -FI_EOPNOTSUPP);
	TEST(update(right, FI_UINT64, FI_CSWAP, with, 0, NULL) == -FI_EOPNOTSUPP);
	TEST(fetch(right, FI_UINT8, FI_SUM, with, result, 0, NULL) == -FI_EOPNOTSUPP);
	TEST(fi_compare_atomic(port.ep, with, 1, NULL, with, NULL, result, NULL, port.peer[right],
			       places[right].at, places[right].key, FI_UINT64, FI_MSWAP,
			       NULL) == -FI_EOPNOTSUPP);
	ret = fi_atomic(port.ep, with, 2, NULL, port.peer[right], places[right].at,
			places[right].key, FI_UINT64, FI_SUM, NULL);
	TEST(ret < 0 && ret != -FI_EAGAIN);
	ret = fi_atomic(port.ep, with, 1, NULL, FI_ADDR_UNSPEC, places[right].at,
			places[right].key, FI_UINT64, FI_SUM, NULL);
	TEST(ret == -FI_EINVAL);
	RUN(together());
	TEST(!word[0] && !word[1]);
	return all_close();
}

static int failing(void)
{
	uint64_t *word = room(16), with = 1, result = 0;
	struct done done = { 0 };

	ATOMICS_OPEN(VIRTUAL, word, 8);
	RUN(fails(update(right, FI_UINT64, FI_SUM, &with, 8, &done), &done));
	RUN(fails(fetch(right, FI_UINT32, FI_SUM, &with, &result, 8, &done), &done));
	RUN(fails(compare_swap(right, FI_UINT64, &with, &with, &result, -8ull, &done), &done));
	places[right].key ^= 1ull << 20;
	RUN(fails(update(right, FI_UINT64, FI_SUM, &with, 0, &done), &done));
	RUN(fails(fetch(right, FI_UINT64, FI_SUM, &with, &result, 0, &done), &done));
	RUN(together());
	RUN(regions_close());
	RUN(expose(word, 8, FI_REMOTE_READ));
	RUN(fails(update(right, FI_UINT64, FI_SUM, &with, 0, &done), &done));
	RUN(fails(fetch(right, FI_INT32, FI_ATOMIC_WRITE, &with, &result, 0, &done), &done));
	RUN(together());
	TEST(!word[0] && !word[1]);
	return all_close();
}

/* ---- All at once ---- */

#define TIMES 200

/* Each value before has been fetched once, by whomever. */
static int exact_sum(void)
{
	uint64_t *word = room(16), one = 1, *seen = room(TIMES * 8);
	struct done *done = room(2 * TIMES * sizeof(*done));

	ATOMICS_OPEN(VIRTUAL, word, 16);
	for (int i = 0; i < TIMES; i++) {
		TEST(!update(0, FI_UINT64, FI_SUM, &one, 0, &done[i]));
		TEST(!fetch(0, FI_UINT64, FI_SUM, &one, &seen[i], 8, &done[TIMES + i]));
	}
	TEST(succeeded(done, 2 * TIMES));
	RUN(together());
	if (!rank)
		TEST(word[0] == (uint64_t)(TIMES * ranks) && word[1] == word[0]);
	for (int i = 0; i < TIMES; i++)
		for (int j = 0; j < i; j++)
			TEST(seen[i] != seen[j] && seen[i] < (uint64_t)(TIMES * ranks));
	return all_close();
}

#define LOCKED 50

static int locked_increment(void)
{
	uint64_t mine = (uint64_t)rank + 1, none = 0, holder = ~0ull, count;
	uint64_t since = clock_ms();
	struct done done = { 0 };

	while (holder) {
		TEST(!late(since));
		TEST(!compare_swap(0, FI_UINT64, &mine, &none, &holder, 0, &done));
		RUN(ended_as(&done, FI_ATOMIC | FI_READ));
		TEST(holder <= (uint64_t)ranks && holder != mine);
	}
	TEST(!read_from(0, &count, 8, 8, &done));
	RUN(ended_as(&done, FI_RMA | FI_READ));
	count++;
	TEST(!write_to(0, &count, 8, 8, &done));
	RUN(ended_as(&done, FI_RMA | FI_WRITE));
	TEST(!compare_swap(0, FI_UINT64, &none, &mine, &holder, 0, &done));
	RUN(ended_as(&done, FI_ATOMIC | FI_READ));
	TEST(holder == mine);
	return 0;
}

static int lock(void)
{
	uint64_t *words = room(16);

	ATOMICS_OPEN(VIRTUAL, words, 16);
	for (int i = 0; i < LOCKED; i++)
		RUN(locked_increment());
	RUN(together());
	if (!rank)
		TEST(!words[0] && words[1] == (uint64_t)(LOCKED * ranks));
	return all_close();
}

/* ---- Counters ---- */

/* Whether a counter comes to a value, and stays there */
static bool counts(struct fid_cntr *counter, uint64_t value)
{
	uint64_t since = clock_ms(), is;

	while ((is = fi_cntr_read(counter)) < value && !late(since))
		poll_all();
	linger(5);
	is = fi_cntr_read(counter);
	if (is != value)
		fprintf(stderr, "# rank %d: %llu counted, not %llu\n", rank,
			(unsigned long long)is, (unsigned long long)value);
	return is == value;
}

static int counter_values(void)
{
	const enum fi_wait_obj waits[] = { FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_YIELD };
	struct fid_cntr *counter;

	RUN(domain_open(VIRTUAL));
	for (int i = 0; i < 3; i++) {
		RUN(counter_open(waits[i], &counter));
		TEST(counter->fid.fclass == FI_CLASS_CNTR);
		TEST(counts(counter, 0) && !fi_cntr_readerr(counter));
		TEST(!fi_cntr_add(counter, 5) && !fi_cntr_add(counter, 2));
		TEST(counts(counter, 7) && !fi_cntr_readerr(counter));
		TEST(!fi_cntr_set(counter, 3) && counts(counter, 3));
		TEST(!fi_cntr_adderr(counter, 2) && fi_cntr_readerr(counter) == 2);
		TEST(!fi_cntr_adderr(counter, 2) && fi_cntr_readerr(counter) == 4);
		TEST(!fi_cntr_seterr(counter, 1) && fi_cntr_readerr(counter) == 1);
		TEST(counts(counter, 3));
		if (i)
			TEST(!fi_cntr_wait(counter, 3, -1));
	}
	TEST(fi_close(&own_domain->fid) == -FI_EBUSY);
	return memory_close();
}

static int counter_binding(void)
{
	struct fid_cntr *counter;
	struct fid_ep *ep;

	RUN(domain_open(VIRTUAL));
	RUN(counter_open(FI_WAIT_NONE, &counter));
	TEST(!fi_endpoint(own_domain, own_info, &ep, NULL));
	TEST(fi_ep_bind(ep, &counter->fid, FI_REMOTE_READ) == -FI_EOPNOTSUPP);
	TEST(fi_ep_bind(ep, &counter->fid, FI_REMOTE_WRITE) == -FI_EOPNOTSUPP);
	TEST(fi_ep_bind(ep, &counter->fid, FI_WRITE | FI_REMOTE_WRITE) == -FI_EOPNOTSUPP);
	TEST(!fi_ep_bind(ep, &counter->fid, FI_SEND | FI_RECV | FI_READ | FI_WRITE));
	TEST(fi_close(&counter->fid) == -FI_EBUSY);
	TEST(!fi_close(&ep->fid));
	return memory_close();
}

/* How many operations of each kind this posts, besides messages */
#define WRITES 6
#define READS 3

static int some_of_each(uint64_t *local, struct done *done)
{
	for (int i = 0; i < WRITES - 1; i++)
		TEST(!write_to(right, local, 8, 0, &done[i]));
	TEST(!RETRY(fi_inject_write(port.ep, local, 8, port.peer[right], places[right].at,
				    places[right].key)));
	for (int i = 0; i < READS; i++)
		TEST(!read_from(right, local + 1, 8, 8, &done[WRITES - 1 + i]));
	TEST(succeeded(done, WRITES - 1 + READS));
	return 0;
}

static int atomics_of_each(uint64_t *local)
{
	struct done done[3] = { 0 };

	TEST(!update(right, FI_UINT64, FI_SUM, local, 0, &done[0]));
	TEST(!fetch(right, FI_UINT64, FI_SUM, local, local + 1, 0, &done[1]));
	TEST(!compare_swap(right, FI_UINT64, local, local, local + 1, 0, &done[2]));
	TEST(!RETRY(fi_inject_atomic(port.ep, local, 1, port.peer[right], places[right].at,
				     places[right].key, FI_UINT64, FI_SUM)));
	TEST(succeeded(done, 3));
	return 0;
}

static int counted(struct fid_cntr *const counter[], const uint64_t value[], bool each)
{
	if (!each)
		return !counts(counter[0], value[0] + value[3]) ||
		       !counts(counter[1], value[1] + value[2]);
	for (int i = 0; i < 4; i++)
		TEST(counts(counter[i], value[i]));
	return 0;
}

/* One counter for each kind, or two for two kinds each */
static int counting_with(bool each)
{
	struct options options = {
		.counted = { FI_SEND, FI_RECV, FI_READ, FI_WRITE },
	};
	uint64_t *words = room(16), local[2] = { 1, 2 }, all = (uint64_t)ranks, two = 0;
	struct done done[16] = { 0 };

	if (!each) {
		options.counted[0] = FI_SEND | FI_WRITE;
		options.counted[1] = FI_RECV | FI_READ;
	}
	RUN(domain_open(VIRTUAL));
	for (int i = 0; i < (each ? 4 : 2); i++)
		RUN(counter_open(FI_WAIT_UNSPEC, &options.counter[i]));
	RUN(own_port_open(&port, &options));
	RUN(expose(words, 16, ANY_ACCESS));
	RUN(counted(options.counter, (uint64_t[]){ all, all, 0, 0 }, each));
	RUN(some_of_each(local, done));
	RUN(counted(options.counter, (uint64_t[]){ all, all, READS, WRITES }, each));
	if (machine_has_atomics()) {
		RUN(atomics_of_each(local));
		two = 2;
	}
	RUN(counted(options.counter, (uint64_t[]){ all, all, READS + two, WRITES + two }, each));
	TEST(!receive_tagged(&port, left, local, 8, 1, 0, &done[15]));
	TEST(!RETRY(fi_tinject(port.ep, local, 8, port.peer[right], 1)));
	TEST(succeeded(&done[15], 1));
	RUN(counted(options.counter, (uint64_t[]){ all + 1, all + 1, READS + two, WRITES + two },
		    each));
	RUN(together());
	return all_close();
}

static int counting(void)
{
	RUN(counting_with(true));
	return counting_with(false);
}

/* Without entries, and nothing but the wait makes it go on */
static int counter_waits(void)
{
	struct options options = {
		.send_flags = FI_SELECTIVE_COMPLETION,
		.counted = { FI_READ | FI_WRITE },
	};
	uint64_t *words = room(800), *local = room(800), since;
	struct fid_cntr **const counter = &options.counter[0];
	struct done quiet = { 0 };
	int before;

	fill(local, 800, seed_of(rank, 1));
	RUN(domain_open(VIRTUAL));
	RUN(counter_open(FI_WAIT_UNSPEC, counter));
	RUN(own_port_open(&port, &options));
	RUN(expose(words, 800, ANY_ACCESS));
	before = port.entries;
	for (uint64_t i = 0; i < 100; i++)
		TEST(!write_to(right, &local[i], 8, 8 * i, &quiet));
	TEST(!fi_cntr_wait(*counter, 100, 20000));
	TEST(!read_from(right, local, 800, 0, &quiet));
	TEST(!fi_cntr_wait(*counter, 101, 20000));
	TEST(filled(local, 800, seed_of(rank, 1)));
	since = clock_ms();
	TEST(fi_cntr_wait(*counter, 102, 200) == -FI_ETIMEDOUT);
	since = clock_ms() - since;
	TEST(since >= 190 && since < 5000);
	TEST(counts(*counter, 101) && !fi_cntr_readerr(*counter));
	TEST(!quiet.times && port.entries == before);
	RUN(together());
	TEST(filled(words, 800, seed_of(left, 1)));
	return all_close();
}

#define WAITS 50

/*
 * An error ends the wait, unless it has been counted before, while the write was
 * posted: then the wait takes its time. Of so many, one is within it.
 */
static int error_waited(struct fid_cntr *counter, bool write)
{
	uint64_t local = 5, errors = 0;
	struct done done = { 0 };
	int ret;

	do {
		TEST(!(write ? write_to(right, &local, 8, 8, &done) :
			       read_from(right, &local, 8, 8, &done)));
		ret = fi_cntr_wait(counter, 1, 200);
		TEST(ret == -FI_EAVAIL || ret == -FI_ETIMEDOUT);
		TEST(fi_cntr_readerr(counter) == ++errors);
		TEST(!fi_cntr_read(counter));
		RUN(fails(0, &done));
	} while (ret != -FI_EAVAIL && errors < WAITS);
	TEST(ret == -FI_EAVAIL);
	return 0;
}

static int counter_errors(void)
{
	struct options options = { .counted = { FI_WRITE, FI_READ } };
	uint64_t *words = room(8), local = 5, errors;
	struct done done = { 0 };

	RUN(domain_open(VIRTUAL));
	for (int i = 0; i < 2; i++)
		RUN(counter_open(FI_WAIT_YIELD, &options.counter[i]));
	RUN(own_port_open(&port, &options));
	RUN(expose(words, 8, ANY_ACCESS));
	RUN(error_waited(options.counter[0], true));
	errors = fi_cntr_readerr(options.counter[0]);
	TEST(!fi_cntr_readerr(options.counter[1]));
	TEST(!write_to(right, &local, 8, 0, &done));
	TEST(!fi_cntr_wait(options.counter[0], 1, 20000));
	RUN(ended_as(&done, FI_RMA | FI_WRITE));
	RUN(error_waited(options.counter[1], false));
	TEST(fi_cntr_readerr(options.counter[0]) == errors);
	RUN(together());
	return all_close();
}

static const struct test tests[] = {
	{ "which atomic operations there are", valid },
	{ "atomic updates of each kind", updates },
	{ "atomic fetches of each kind", fetches },
	{ "compare and swap", swaps },
	{ "atomic operations by message, by vector, and injected", other_calls },
	{ "atomic operations that there are not", not_supported },
	{ "atomic operations that fail change nothing", failing },
	{ "a sum of all ranks' is exact", exact_sum },
	{ "a lock excludes others", lock },
	{ "counters are read, set and added to", counter_values },
	{ "counters are bound to what they can count", counter_binding },
	{ "counters count each kind of operation", counting },
	{ "a wait for a counter", counter_waits },
	{ "errors in counters", counter_errors },
};

const struct suite atomic_suite = { tests, sizeof(tests) / sizeof(tests[0]) };
