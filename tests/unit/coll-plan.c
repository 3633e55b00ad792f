// SPDX-License-Identifier: MIT
/*
 * Plans of all algorithms, carried out by the machine on paper: random groups,
 * sizes and schedules. COLL_PLAN_JOBS says how many of each algorithm;
 * COLL_PLAN_SEED runs the one job that a failure has named.
 */
#include "harness.h"

#include "coll-paper.h"

#define JOBS 120
#define MEMBERS_MAX 96
#define LIMIT 900 /* seconds, for those who want many jobs */

static unsigned long setting(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

/* ---- Jobs ---- */

static uint32_t below(uint64_t *state, uint64_t count)
{
	return (uint32_t)(paper_random(state) % count);
}

static void shuffle(struct coll_torus *torus, uint64_t *state)
{
	for (unsigned int i = 0; i < TOFU_COLL_AXES; i++) {
		const unsigned int j = below(state, TOFU_COLL_AXES);
		const uint32_t size = torus->size[i];

		torus->size[i] = torus->size[j];
		torus->size[j] = size;
	}
}

static struct coll_torus torus_of(uint64_t *state, uint32_t most)
{
	static const struct coll_torus known[] = {
		{ { 1, 1, 1 } },  { { 1, 1, 2 } },  { { 1, 2, 2 } },
		{ { 2, 2, 2 } },  { { 1, 3, 4 } },  { { 4, 3, 8 } },
		{ { 1, 1, 13 } }, { { 1, 1, 31 } }, { { 2, 1, 16 } },
		{ { 1, 1, 64 } }, { { 3, 3, 3 } },  { { 1, 6, 8 } },
		{ { 4, 4, 4 } },  { { 2, 3, 2 } },  { { 1, 1, 96 } },
	};
	struct coll_torus torus;

	do {
		torus = known[below(state, sizeof(known) / sizeof(known[0]))];
		if (below(state, 3))
			torus = (struct coll_torus){
				{ 1 + below(state, 6), 1 + below(state, 6),
				  1 + below(state, 6) }
			};
		else if (!below(state, 4))
			torus = (struct coll_torus){
				{ 1, 1, 1 + below(state, most) }
			};
	} while (paper_members(&torus) > most);
	shuffle(&torus, state);
	return torus;
}

/*
 * Elements of a block: none, few, about so many whole segments, or rarely as
 * many as there is room for.
 */
static uint64_t count_of(uint64_t *state, uint64_t segment, uint64_t room)
{
	const unsigned int choice = below(state, 8);
	uint64_t count = choice;

	if (choice == 2)
		count = 1 + below(state, 40);
	else if (choice < 6 && choice > 2)
		count = segment * (1 + below(state, 30)) + below(state, 5) - 2;
	else if (choice == 6)
		count = segment * (8 + below(state, 200)) + below(state, 3);
	else if (choice == 1 && !below(state, 3))
		count = room;
	else if (choice == 7)
		count = segment * below(state, 9) * (1 + below(state, 6));
	return count < room ? count : below(state, room);
}

static bool has_blocks(enum tofu_coll_kind kind)
{
	return kind >= TOFU_COLL_GATHER;
}

/* How many elements a block may have, lest it take too long. */
static uint64_t room_of(enum tofu_coll_kind kind, uint64_t members)
{
	const uint64_t room = 12000 / members;

	return 2 + (has_blocks(kind) ? room / members * 4 : room);
}

static struct paper_job job_of(const struct coll_algorithm *how, uint64_t seed)
{
	static const uint32_t elements[] = { 1, 8, 8, 16 };
	static const unsigned int engines[] = { 1, 2, 4, 6 };
	static const unsigned int segments[] = { 1, 1, 2, 3, 5, 16 };
	struct paper_job job = { .how = how, .contents = seed };
	uint64_t state = seed, segment;
	uint32_t members;

	job.seed = paper_random(&state);
	job.torus = torus_of(&state, below(&state, 4) ? 24 : MEMBERS_MAX);
	members = paper_members(&job.torus);
	if (how->kind == TOFU_COLL_BCAST || how->kind == TOFU_COLL_REDUCE ||
	    how->kind == TOFU_COLL_GATHER || how->kind == TOFU_COLL_SCATTER)
		job.root = below(&state, 2) ? below(&state, members) : 0;
	job.element = elements[below(&state, 4)];
	segment = segments[below(&state, 6)];
	job.segment = segment * job.element;
	job.count = count_of(&state, segment, room_of(how->kind, members));
	if (how->kind == TOFU_COLL_BARRIER)
		job.count = 0;
	if (how->algorithm == TOFU_COLL_GATES &&
	    how->kind == TOFU_COLL_ALLREDUCE)
		job.count = below(&state, 7);
	job.engines = engines[below(&state, 4)];
	job.routes = below(&state, 3) ? below(&state, 7) : 0;
	job.in_place = below(&state, PAPER_SOME + 1);
	job.rounds = 1 + below(&state, 4);
	return job;
}

static const char *text_of(const struct paper_job *job, char text[512])
{
	snprintf(text, 512,
		 "%s %s: seed %#llx: %ux%ux%u, root %u, %llu elements of %u, segment %llu, engines %u, routes %u, in place %d, rounds %u, %s, fault %d at %d %u",
		 tofu_coll_kind_name(job->how->kind),
		 tofu_coll_algorithm_name(job->how->algorithm),
		 (unsigned long long)job->contents, job->torus.size[0],
		 job->torus.size[1], job->torus.size[2], job->root,
		 (unsigned long long)job->count, job->element,
		 (unsigned long long)job->segment, job->engines, job->routes,
		 (int)job->in_place, job->rounds,
		 job->ordered ? "ordered" : "any order", (int)job->mutant.what,
		 (int)job->mutant.member, job->mutant.which);
	return text;
}

/* Say in the lines of TAP's diagnostics what has happened. */
static void tell(const struct paper_job *job, const struct paper_report *report)
{
	char text[512];
	const char *line = report->text;

	printf("# %s\n", text_of(job, text));
	while (*line) {
		const int length = (int)strcspn(line, "\n");

		printf("#   %.*s\n", length, line);
		line += length + (line[length] == '\n');
	}
}

/* ---- The machine itself: a broadcast along a chain, with faults ---- */

enum chain_fault {
	CHAIN_SOUND,
	CHAIN_ONE_BUFFER,
	CHAIN_NO_FLUSH,
	CHAIN_CIRCLE,
	CHAIN_OUTSIDE,
	CHAIN_NO_PORT,
	CHAIN_TOLD_TWICE,
	CHAIN_NOT_AWAITED,
	CHAIN_UNREADY,
	CHAIN_SHIFTED,
	CHAIN_ENDLESS,
};

static enum chain_fault chain_fault;

/* Ports: data, and that the next one has started. Links: to them. */
enum { CHAIN_DATA,
       CHAIN_STARTED };

static bool chain_first(const struct coll_plan *plan)
{
	return plan->job.number == 0;
}

static bool chain_last(const struct coll_plan *plan)
{
	return plan->job.number == plan->job.members - 1;
}

static struct coll_place chain_work(const struct coll_plan *plan, bool odd)
{
	if (chain_fault == CHAIN_ONE_BUFFER)
		odd = false;
	return coll_place(COLL_WORK, odd ? plan->job.bytes : 0);
}

static void chain_put(const struct coll_plan *plan, bool odd,
		      struct coll_step *step)
{
	struct coll_place from = chain_work(plan, odd), to = from;

	if (chain_first(plan))
		from = coll_place(COLL_SEND, 0);
	else if (chain_fault == CHAIN_UNREADY)
		from = coll_place(COLL_RECV, 0);
	if (chain_fault == CHAIN_UNREADY)
		to = coll_place(COLL_RECV, 0);
	if (chain_fault == CHAIN_OUTSIDE)
		to.offset = 2 * plan->job.bytes + 1;
	coll_put(step, CHAIN_DATA, from, to, plan->job.bytes);
}

static void chain_copy(const struct coll_plan *plan, bool odd,
		       struct coll_step *step)
{
	const unsigned int shift = chain_fault == CHAIN_SHIFTED ? 1 : 0;
	struct coll_place from = chain_work(plan, odd);

	from.offset += shift;
	coll_copy(step, coll_place(COLL_RECV, 0), from,
		  plan->job.bytes - shift);
}

/* Data go through a buffer of even or of odd rounds, which is then written. */
static void chain_step(const struct coll_plan *plan, unsigned int lane,
		       uint64_t index, bool odd, struct coll_step *step)
{
	const bool first = chain_first(plan), last = chain_last(plan);
	const bool tells = index == (chain_fault == CHAIN_CIRCLE ? 4 : 0) ||
			   (index == 1 && chain_fault == CHAIN_TOLD_TWICE);
	const bool awaits = index == (chain_fault == CHAIN_CIRCLE ? 1 : 7) &&
			    chain_fault != CHAIN_NOT_AWAITED;

	(void)lane;
	if (index > 7 && chain_fault != CHAIN_ENDLESS)
		return;
	coll_nothing(step);
	if (!first && tells)
		coll_tell(step, CHAIN_STARTED);
	else if (!last && awaits)
		coll_await(step, CHAIN_STARTED, 1);
	else if (!first && index == 2)
		coll_await(step, CHAIN_DATA, 1);
	else if (!last && index == 3)
		chain_put(plan, odd, step);
	else if (!first && index == 4 && chain_fault != CHAIN_UNREADY)
		chain_copy(plan, odd, step);
	else if (index == 5 && chain_fault != CHAIN_NO_FLUSH)
		coll_flush(step, 0);
	else if (!first && index == 6)
		coll_copy(step, chain_work(plan, odd),
			  coll_place(COLL_WORK, 2 * plan->job.bytes),
			  plan->job.bytes);
}

/* What the first and the last one do not have is there in name only. */
static void chain_plan(struct coll_plan *plan)
{
	const uint32_t members = plan->job.members;
	const uint32_t next = (plan->job.number + 1) % members;
	const uint32_t last = (plan->job.number + members - 1) % members;
	const bool no_port = chain_fault == CHAIN_NO_PORT;

	plan->step = chain_step;
	plan->lanes = 1;
	coll_port_add(plan, last, 0, CHAIN_DATA, !chain_first(plan));
	coll_port_add(plan, next, 0, CHAIN_STARTED, !chain_last(plan));
	coll_link_add(plan, next, 0, no_port ? 9 : CHAIN_DATA);
	coll_link_add(plan, last, 0, CHAIN_STARTED);
	plan->work = 3 * plan->job.bytes;
}

static const char *chain_unfit(const struct coll_job *job)
{
	return job->root ? "the root is not the first" : NULL;
}

static const struct coll_algorithm chain = {
	.kind = TOFU_COLL_BCAST,
	.unfit = chain_unfit,
	.plan = chain_plan,
};

static struct paper_job chain_job(uint64_t seed)
{
	return (struct paper_job){
		.how = &chain,
		.torus = { { 1, 1, 5 } },
		.count = 20,
		.element = 8,
		.engines = 1,
		.segment = 160,
		.rounds = 4,
		.contents = 1,
		.seed = seed,
	};
}

#define CHAIN_SCHEDULES 200

TEST(a_sound_chain_is_right_in_every_schedule)
{
	for (uint64_t seed = 0; seed < CHAIN_SCHEDULES; seed++) {
		const struct paper_job job = chain_job(seed);
		struct paper_report report;

		paper_run(&job, &report);
		EXPECT_EQ(PAPER_FINE, report.end);
		EXPECT_STREQ("", report.text);
		EXPECT_EQ(4 * 2 * 4, report.puts);
	}
}

TEST(a_job_that_does_not_fit_is_not_run)
{
	struct paper_job job = chain_job(1);
	struct paper_report report;

	job.root = 2;
	paper_run(&job, &report);
	EXPECT_EQ(PAPER_UNFIT, report.end);
	EXPECT_EQ(0, report.puts);
}

FIXTURE(chain)
{
	int unused;
};

/* @said: in every account of the fault; NULL: it differs */
FIXTURE_VARIANT(chain)
{
	enum chain_fault fault;
	const char *said;
};

FIXTURE_VARIANT_ADD(chain, one_buffer) { CHAIN_ONE_BUFFER, NULL };
FIXTURE_VARIANT_ADD(chain, no_flush) { CHAIN_NO_FLUSH, "may still read" };
FIXTURE_VARIANT_ADD(chain, circle)
{
	CHAIN_CIRCLE, "5 of 5 members wait for ever"
};
FIXTURE_VARIANT_ADD(chain, outside) { CHAIN_OUTSIDE, "which has 480" };
FIXTURE_VARIANT_ADD(chain, no_port) { CHAIN_NO_PORT, "no such port" };
FIXTURE_VARIANT_ADD(chain, told_twice) { CHAIN_TOLD_TWICE, NULL };
FIXTURE_VARIANT_ADD(chain, not_awaited) { CHAIN_NOT_AWAITED, "which is due 1" };
FIXTURE_VARIANT_ADD(chain, unready) { CHAIN_UNREADY, "user" };
FIXTURE_VARIANT_ADD(chain, shifted) { CHAIN_SHIFTED, "wrong from byte" };
FIXTURE_VARIANT_ADD(chain, endless) { CHAIN_ENDLESS, "has done" };

FIXTURE_SETUP(chain)
{
	chain_fault = variant->fault;
}

FIXTURE_TEARDOWN(chain)
{
}

TEST_F(chain, is_found)
{
	unsigned int found = 0;

	for (uint64_t seed = 0; seed < CHAIN_SCHEDULES; seed++) {
		const struct paper_job job = chain_job(seed);
		struct paper_report report;

		paper_run(&job, &report);
		if (report.end != PAPER_BROKEN)
			continue;
		if (!found++)
			tell(&job, &report);
		if (variant->said && !strstr(report.text, variant->said))
			EXPECT_STREQ(variant->said, report.text);
	}
	TH_LOG("in %u of %d schedules", found, CHAIN_SCHEDULES);
	EXPECT_GT(found, 0);
}

/* ---- All algorithms of a kind ---- */

/**
 * struct tally - what jobs of an algorithm have come to
 * @ran: and fit
 */
struct tally {
	unsigned int ran;
	unsigned int unfit;
	unsigned int broken;
	uint32_t members;
	uint64_t puts;
};

static void tally_add(struct tally *tally, const struct paper_job *job,
		      const struct paper_report *report)
{
	const uint32_t members = paper_members(&job->torus);

	if (report->end == PAPER_UNFIT) {
		tally->unfit++;
		return;
	}
	tally->ran++;
	tally->puts += report->puts;
	if (members > tally->members)
		tally->members = members;
	if (report->end == PAPER_BROKEN && !tally->broken++)
		tell(job, report);
}

static struct tally run_jobs(const struct coll_algorithm *how)
{
	const unsigned long jobs = setting("COLL_PLAN_JOBS", JOBS);
	const unsigned long seed = setting("COLL_PLAN_SEED", 0);
	struct tally tally = { 0 };

	for (unsigned long i = 1; i <= (seed ? 1 : jobs); i++) {
		const struct paper_job job = job_of(how, seed ? seed : i);
		struct paper_report report;

		paper_run(&job, &report);
		tally_add(&tally, &job, &report);
	}
	return tally;
}

FIXTURE(kind)
{
	unsigned int algorithms;
};

FIXTURE_VARIANT(kind)
{
	enum tofu_coll_kind kind;
};

FIXTURE_VARIANT_ADD(kind, barrier) { TOFU_COLL_BARRIER };
FIXTURE_VARIANT_ADD(kind, bcast) { TOFU_COLL_BCAST };
FIXTURE_VARIANT_ADD(kind, reduce) { TOFU_COLL_REDUCE };
FIXTURE_VARIANT_ADD(kind, allreduce) { TOFU_COLL_ALLREDUCE };
FIXTURE_VARIANT_ADD(kind, gather) { TOFU_COLL_GATHER };
FIXTURE_VARIANT_ADD(kind, scatter) { TOFU_COLL_SCATTER };
FIXTURE_VARIANT_ADD(kind, allgather) { TOFU_COLL_ALLGATHER };
FIXTURE_VARIANT_ADD(kind, reduce_scatter) { TOFU_COLL_REDUCE_SCATTER };
FIXTURE_VARIANT_ADD(kind, alltoall) { TOFU_COLL_ALLTOALL };

FIXTURE_SETUP(kind)
{
}

FIXTURE_TEARDOWN(kind)
{
	ASSERT_GT(self->algorithms, 0);
}

TEST_F_TIMEOUT(kind, gives_right_results_in_every_schedule, LIMIT)
{
	const struct coll_algorithm *how;

	for (unsigned int i = 0; (how = coll_algorithm_at(i)); i++) {
		struct tally tally;

		if (how->kind != variant->kind)
			continue;
		self->algorithms++;
		tally = run_jobs(how);
		TH_LOG("%s %s: %u jobs, %llu puts, up to %u members; %u did not fit",
		       tofu_coll_kind_name(how->kind),
		       tofu_coll_algorithm_name(how->algorithm), tally.ran,
		       (unsigned long long)tally.puts, tally.members,
		       tally.unfit);
		EXPECT_EQ(0, tally.broken);
		if (!setting("COLL_PLAN_SEED", 0))
			EXPECT_GT(tally.ran, 0);
	}
}

/* ---- Order ---- */

#define ORDER_JOBS 12
#define ORDER_SCHEDULES 6

/* Whether a job has the same bits in some schedules; sets how often it ran. */
static bool has_one_order(struct paper_job *job, unsigned int *ran)
{
	struct paper_report report;
	uint64_t bits = 0;

	job->ordered = true;
	for (unsigned int i = 0; i < ORDER_SCHEDULES; i++) {
		job->seed += i;
		paper_run(job, &report);
		if (report.end == PAPER_UNFIT)
			return true;
		if (report.end == PAPER_BROKEN || (i && report.bits != bits)) {
			tell(job, &report);
			return false;
		}
		bits = report.bits;
	}
	++*ran;
	return true;
}

TEST(results_have_the_same_bits_in_every_schedule)
{
	const struct coll_algorithm *how;

	for (unsigned int i = 0; (how = coll_algorithm_at(i)); i++) {
		unsigned int ran = 0;

		if (how->kind != TOFU_COLL_REDUCE &&
		    how->kind != TOFU_COLL_ALLREDUCE &&
		    how->kind != TOFU_COLL_REDUCE_SCATTER)
			continue;
		for (uint64_t seed = 1000; seed < 1000 + ORDER_JOBS; seed++) {
			struct paper_job job = job_of(how, seed);

			EXPECT_TRUE(has_one_order(&job, &ran));
		}
		EXPECT_GT(ran, 0);
	}
}

/* ---- Faults in algorithms ---- */

#define FAULT_SCHEDULES 12
#define FAULT_SEEDS 2
#define FAULT_MEMBERS 3 /* all of them, number 0, number 1 */
#define FAULT_PLACES 6 /* first ports or links; of lanes half of them */

FIXTURE(fault)
{
	unsigned int made;
	unsigned int found;
};

/*
 * Least per cent to be found. Waits at a port are often implied by others, and
 * a root has nothing to flush: a fault without them is none.
 */
FIXTURE_VARIANT(fault)
{
	enum paper_mutation what;
	unsigned int least;
};

FIXTURE_VARIANT_ADD(fault, no_wait_at_a_port) { PAPER_NO_AWAIT, 60 };
FIXTURE_VARIANT_ADD(fault, no_flush_in_a_lane) { PAPER_NO_FLUSH, 60 };
FIXTURE_VARIANT_ADD(fault, no_join_in_a_lane) { PAPER_NO_JOIN, 90 };
FIXTURE_VARIANT_ADD(fault, no_notice_on_a_link) { PAPER_NO_NOTICE, 100 };
FIXTURE_VARIANT_ADD(fault, more_notices_are_due) { PAPER_DUE_MORE, 100 };
FIXTURE_VARIANT_ADD(fault, less_notices_are_due) { PAPER_DUE_LESS, 100 };
FIXTURE_VARIANT_ADD(fault, memory_of_even_rounds) { PAPER_EVEN, 90 };

FIXTURE_SETUP(fault)
{
}

FIXTURE_TEARDOWN(fault)
{
}

/* A fault that never changes anything has not been made. */
static void fault_run(struct paper_job job, unsigned int *made,
		      unsigned int *found)
{
	struct paper_report report;
	uint64_t mutated = 0;

	for (unsigned int i = 0; i < FAULT_SCHEDULES; i++) {
		job.seed++;
		paper_run(&job, &report);
		mutated += report.mutated;
		if (report.mutated && report.end == PAPER_BROKEN) {
			++*made;
			++*found;
			return;
		}
		if (i >= 2 && !mutated)
			return;
	}
	++*made;
	if (setting("COLL_PLAN_MISSED", 0))
		tell(&job, &report);
}

static struct paper_job fault_job(const struct coll_algorithm *how,
				  enum paper_mutation what, uint64_t seed)
{
	struct paper_job job = {
		.how = how,
		.torus = { { 2, 1 + seed % 2, 3 } },
		.count = 50,
		.element = 8,
		.engines = 4,
		.routes = seed % 2,
		.segment = 16,
		.rounds = 4,
		.contents = seed,
		.seed = seed * 1000,
		.mutant = { .what = what },
	};

	if (what == PAPER_NO_FLUSH) {
		job.count = 100;
		job.routes = 1;
	}
	if (how->algorithm == TOFU_COLL_GATES)
		job.count = 6;
	if (how->kind == TOFU_COLL_BARRIER)
		job.count = 0;
	return job;
}

static bool is_of_lane(enum paper_mutation what)
{
	return what == PAPER_NO_FLUSH || what == PAPER_NO_JOIN ||
	       what == PAPER_EVEN;
}

static void faults_run(const struct coll_algorithm *how,
		       enum paper_mutation what, unsigned int *made,
		       unsigned int *found)
{
	const unsigned int places = is_of_lane(what) ? FAULT_PLACES / 2 :
						       FAULT_PLACES;

	for (unsigned int i = 0; i < FAULT_SEEDS * FAULT_MEMBERS * places;
	     i++) {
		struct paper_job job = fault_job(how, what,
						 1 + i % FAULT_SEEDS);
		const uint32_t member = i / FAULT_SEEDS % FAULT_MEMBERS;

		job.mutant.member = member ? member - 1 : COLL_NOBODY;
		job.mutant.which = i / FAULT_SEEDS / FAULT_MEMBERS;
		fault_run(job, made, found);
	}
}

TEST_F_TIMEOUT(fault, is_found, LIMIT)
{
	const struct coll_algorithm *how;

	for (unsigned int i = 0; (how = coll_algorithm_at(i)); i++)
		faults_run(how, variant->what, &self->made, &self->found);
	TH_LOG("found %u of %u", self->found, self->made);
	EXPECT_GT(self->made, 0);
	EXPECT_GE(self->found * 100, self->made * variant->least);
}

TEST_HARNESS_MAIN
