// SPDX-License-Identifier: MIT
/*
 * The page that others write, as words:
 *
 *   hello[round]  who I am, from the node that signals me in that round
 *   ack[round]    my own hello, back from the node that I signal
 *   epoch[round]  how many barriers that node has come to
 *   probe         written by whoever wants to know whether I am there
 *   board[slot]   words that others leave for me
 *   out           words on their way to another's board
 *   table[2]      the words of all nodes, of the last two allgathers
 *
 * In round r of a barrier by dissemination, node i signals node i + 2^r and
 * waits for node i - 2^r (modulo the count of nodes). A hello is a number
 * drawn by each process, and it stands in the upper half of the epochs that it
 * sends, so that what an earlier process of the same node left behind is never
 * taken for a signal.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <tofu/job.h>
#include <utofu.h>

#include "boot.h"
#include "error.h"
#include "stats.h"
#include "wait.h"

#define ROUNDS_MAX 32
#define PAGE_ALIGN 4096
#define RETRY_NS 5000000ULL
#define PROBE_NS 1000000000ULL
#define NAMED_MAX 8 /* nodes in a message */

enum { HELLO,
       ACK = ROUNDS_MAX,
       EPOCH = 2 * ROUNDS_MAX,
       PROBE = 3 * ROUNDS_MAX,
       BOARD,
       OUT = BOARD + TOFU_BOOT_SLOTS * TOFU_BOOT_SLOT_WORDS,
       TABLE = OUT + TOFU_BOOT_SLOT_WORDS };

struct tofu_boot {
	struct tofu_machine machine;
	unsigned int timeout;
	unsigned int rounds;
	utofu_vcq_hdl_t vcq;
	bool has_vcq;
	uint64_t *word;
	utofu_stadd_t stadd;
	uint32_t hello;
	uint32_t epoch;
	uint32_t gathers;
	bool met; /* all have said hello; none may say another */
	bool leaving; /* those that are through may be gone */
	uint32_t answered[ROUNDS_MAX]; /* hellos that were acknowledged */
	uint64_t last[ROUNDS_MAX]; /* when hello was sent, nanoseconds */
};

static size_t area_size(const struct tofu_boot *boot)
{
	size_t words = TABLE + 2 * (size_t)boot->machine.nodes * TOFU_BOOT_WORDS;

	return (words * sizeof(uint64_t) + PAGE_ALIGN - 1) & ~(PAGE_ALIGN - 1ULL);
}

/* What others put there: seen whole, and before what they put after it. */
static uint64_t word_read(const struct tofu_boot *boot, size_t index)
{
	return __atomic_load_n(&boot->word[index], __ATOMIC_ACQUIRE);
}

static uint32_t signalled(const struct tofu_boot *boot, unsigned int round)
{
	return (uint32_t)((boot->machine.node + (1ULL << round)) %
			  boot->machine.nodes);
}

static uint32_t signaller(const struct tofu_boot *boot, unsigned int round)
{
	uint64_t nodes = boot->machine.nodes;

	return (uint32_t)((boot->machine.node + nodes -
			   (1ULL << round) % nodes) % nodes);
}

static int vcq_of(const struct tofu_boot *boot, uint32_t node,
		  utofu_vcq_id_t *id)
{
	struct tofu_coords at = tofu_coords_of(&boot->machine.shape, node);

	return utofu_construct_vcq_id(at.c, 0, 0, TOFU_BOOT_CMP_ID, id);
}

/* The end of the one command under way: its report, then its notice. */
static int put_end(struct tofu_boot *boot)
{
	struct tofu_wait wait = tofu_wait_patient(boot->timeout);
	struct utofu_mrq_notice notice;
	void *cbdata;
	int code;

	do {
		code = utofu_poll_tcq(boot->vcq, 0, &cbdata);
	} while (code == UTOFU_ERR_NOT_FOUND && tofu_wait_more(&wait));
	/* A command that failed before it left the node gives no notice. */
	if (code != UTOFU_SUCCESS)
		return code;
	do {
		code = utofu_poll_mrq(boot->vcq, 0, &notice);
	} while (code == UTOFU_ERR_NOT_FOUND && tofu_wait_more(&wait));
	return code;
}

#define PUT_FLAGS (UTOFU_ONESIDED_FLAG_TCQ_NOTICE | \
		   UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE)

/* One word into another node's area; returns when it is there. */
static int word_put(struct tofu_boot *boot, uint32_t node, size_t index,
		    uint64_t value)
{
	utofu_vcq_id_t id;
	int code = vcq_of(boot, node, &id);

	if (code == UTOFU_SUCCESS)
		code = utofu_put_piggyback8(boot->vcq, id, value,
					    boot->stadd + index * sizeof(value),
					    sizeof(value), 0, PUT_FLAGS, NULL);
	return code == UTOFU_SUCCESS ? put_end(boot) : code;
}

/* Codes of a node whose process is not there: not yet, or not any more. */
static bool is_absence(int code)
{
	return code == UTOFU_ERR_MRQ_PEER || code == UTOFU_ERR_MRQ_RMT_STADD;
}

/* ---- What to say when it goes wrong ---- */

static int say_failure(struct tofu_boot *boot, uint32_t node, int code,
		       char **why)
{
	if (is_absence(code) && boot->met)
		tofu_error_say(why, "node %u: the process on node %u is gone",
			       boot->machine.node, node);
	else
		tofu_error_say(why, "node %u: cannot reach node %u: %s",
			       boot->machine.node, node, tofu_error_text(code));
	return -EIO;
}

static int say_timeout(struct tofu_boot *boot, uint32_t awaited, char **why)
{
	char list[NAMED_MAX * 12 + 32] = "";
	size_t missing = 0;

	for (uint32_t node = 0; node < boot->machine.nodes; node++) {
		size_t used = strlen(list);

		if (!is_absence(word_put(boot, node, PROBE, 1)))
			continue;
		if (missing++ < NAMED_MAX)
			snprintf(list + used, sizeof(list) - used, "%s%u",
				 used ? ", " : "", node);
	}
	if (missing > NAMED_MAX)
		strcat(list, " and more");
	if (missing)
		tofu_error_say(why,
			       "node %u: waited %u s; no such program is running on node%s %s",
			       boot->machine.node, boot->timeout,
			       missing > 1 ? "s" : "", list);
	else
		tofu_error_say(why,
			       "node %u: waited %u s for node %u, which is there but has not come this far",
			       boot->machine.node, boot->timeout, awaited);
	return -ETIMEDOUT;
}

/* ---- Meeting ---- */

static void hello_send(struct tofu_boot *boot, unsigned int round)
{
	uint64_t now = tofu_now();

	if (now - boot->last[round] < RETRY_NS)
		return;
	/* Whether it has arrived is told by the acknowledgement. */
	word_put(boot, signalled(boot, round), HELLO + round, boot->hello);
	boot->last[round] = tofu_now();
}

/* Returns true when this round's signaller knows that it was heard. */
static bool hello_answer(struct tofu_boot *boot, unsigned int round)
{
	uint32_t hello = (uint32_t)word_read(boot, HELLO + round);

	if (!hello)
		return false;
	if (hello != boot->answered[round] &&
	    word_put(boot, signaller(boot, round), ACK + round, hello) ==
		    UTOFU_SUCCESS)
		boot->answered[round] = hello;
	return hello == boot->answered[round];
}

static int meet(struct tofu_boot *boot, char **why)
{
	struct tofu_wait wait = tofu_wait_patient(boot->timeout);

	for (;;) {
		unsigned int through = 0;
		uint32_t awaited = 0;

		for (unsigned int r = 0; r < boot->rounds; r++) {
			bool heard = word_read(boot, ACK + r) == boot->hello;

			if (!heard)
				hello_send(boot, r);
			if (hello_answer(boot, r) && heard)
				through++;
			else
				awaited = heard ? signaller(boot, r) :
						  signalled(boot, r);
		}
		if (through == boot->rounds)
			break;
		if (!tofu_wait_more(&wait))
			return say_timeout(boot, awaited, why);
	}
	boot->met = true;
	return 0;
}

/* ---- Barrier ---- */

static bool signal_seen(const struct tofu_boot *boot, unsigned int round)
{
	uint64_t word = word_read(boot, EPOCH + round);

	return (uint32_t)(word >> 32) == boot->answered[round] &&
	       (uint32_t)word >= boot->epoch;
}

static int signal_wait(struct tofu_boot *boot, unsigned int round, char **why)
{
	struct tofu_wait wait = tofu_wait_patient(boot->timeout);
	uint32_t from = signaller(boot, round);
	struct utofu_mrq_notice notice;
	uint64_t probed = 0;
	int code;

	while (!signal_seen(boot, round)) {
		uint64_t waited;

		if ((uint32_t)word_read(boot, HELLO + round) !=
		    boot->answered[round]) {
			tofu_error_say(why,
				       "node %u: the process on node %u has started anew",
				       boot->machine.node, from);
			return -EIO;
		}
		/* Nothing is expected: the poll lets the engine work. */
		code = utofu_poll_mrq(boot->vcq, 0, &notice);
		if (code != UTOFU_ERR_NOT_FOUND)
			return say_failure(boot, from, code, why);
		if (!tofu_wait_more(&wait))
			return say_timeout(boot, from, why);
		waited = tofu_wait_time(&wait);
		if (waited - probed < PROBE_NS)
			continue;
		/* One that is dead will never signal: do not wait for it. */
		probed = waited;
		code = word_put(boot, from, PROBE, 1);
		if (code != UTOFU_SUCCESS && !signal_seen(boot, round))
			return say_failure(boot, from, code, why);
	}
	return 0;
}

int tofu_boot_check(struct tofu_boot *boot, uint32_t node, char **why)
{
	int code = word_put(boot, node, PROBE, 1);

	return code == UTOFU_SUCCESS ? 0 : say_failure(boot, node, code, why);
}

int tofu_boot_barrier(struct tofu_boot *boot, char **why)
{
	int code, err;

	boot->epoch++;
	for (unsigned int r = 0; r < boot->rounds; r++) {
		uint32_t to = signalled(boot, r);

		code = word_put(boot, to, EPOCH + r,
				(uint64_t)boot->hello << 32 | boot->epoch);
		/*
		 * One that is leaving needs this signal before it goes: if it
		 * is gone, only the answer to the put was lost.
		 */
		if (code != UTOFU_SUCCESS && !(boot->leaving && is_absence(code)))
			return say_failure(boot, to, code, why);
		err = signal_wait(boot, r, why);
		if (err)
			return err;
	}
	return 0;
}

/* ---- Blocks of words ---- */

static int block_put(struct tofu_boot *boot, uint32_t node, size_t from,
		     size_t to, size_t words)
{
	utofu_vcq_id_t id;
	int code = vcq_of(boot, node, &id);

	if (code == UTOFU_SUCCESS)
		code = utofu_put(boot->vcq, id,
				 boot->stadd + from * sizeof(uint64_t),
				 boot->stadd + to * sizeof(uint64_t),
				 words * sizeof(uint64_t), 0, PUT_FLAGS, NULL);
	return code == UTOFU_SUCCESS ? put_end(boot) : code;
}

int tofu_boot_allgather(struct tofu_boot *boot, const uint64_t *mine,
			size_t words, const uint64_t **all, char **why)
{
	/*
	 * Two tables in turn: who is in the next gather has passed this one's
	 * barrier, but may still be read from here; nobody is in the one after
	 * that before all have come to the next one's barrier.
	 */
	size_t table = TABLE + (size_t)(boot->gathers++ & 1) *
				       boot->machine.nodes * TOFU_BOOT_WORDS;
	size_t own = table + boot->machine.node * words;
	int err;

	memcpy(&boot->word[own], mine, words * sizeof(*mine));
	for (uint32_t node = 0; node < boot->machine.nodes; node++) {
		int code;

		if (node == boot->machine.node)
			continue;
		code = block_put(boot, node, own, own, words);
		if (code != UTOFU_SUCCESS)
			return say_failure(boot, node, code, why);
	}
	err = tofu_boot_barrier(boot, why);
	if (!err)
		*all = &boot->word[table];
	return err;
}

int tofu_boot_tell(struct tofu_boot *boot, uint32_t node, unsigned int slot,
		   const uint64_t *words, char **why)
{
	int code;

	memcpy(&boot->word[OUT], words, TOFU_BOOT_SLOT_WORDS * sizeof(*words));
	code = block_put(boot, node, OUT, BOARD + slot * TOFU_BOOT_SLOT_WORDS,
			 TOFU_BOOT_SLOT_WORDS);
	return code == UTOFU_SUCCESS ? 0 : say_failure(boot, node, code, why);
}

const uint64_t *tofu_boot_told(const struct tofu_boot *boot, unsigned int slot)
{
	return &boot->word[BOARD + slot * TOFU_BOOT_SLOT_WORDS];
}

/* ---- Coming and going ---- */

/*
 * CQ 0 is where the others look. A process that is just ending may still
 * have it.
 */
static int vcq_create(struct tofu_boot *boot, char **why)
{
	struct tofu_wait wait = tofu_wait_patient(boot->timeout);
	struct tofu_coords at;
	utofu_vcq_id_t id;
	utofu_tni_id_t tni;
	utofu_cq_id_t cq;
	uint16_t extra;
	int code;

	do {
		code = utofu_create_vcq_with_cmp_id(0, TOFU_BOOT_CMP_ID, 0,
						    &boot->vcq);
		if (code != UTOFU_SUCCESS)
			break;
		code = utofu_query_vcq_id(boot->vcq, &id);
		if (code == UTOFU_SUCCESS)
			code = utofu_query_vcq_info(id, at.c, &tni, &cq, &extra);
		if (code == UTOFU_SUCCESS && cq == 0) {
			boot->has_vcq = true;
			return 0;
		}
		utofu_free_vcq(boot->vcq);
		usleep(RETRY_NS / 1000);
	} while (code == UTOFU_SUCCESS && tofu_wait_more(&wait));
	if (code == UTOFU_SUCCESS)
		tofu_error_say(why,
			       "node %u: another program uses CQ 0 of TNI 0",
			       boot->machine.node);
	else
		tofu_error_say(why, "node %u: cannot create a VCQ: %s",
			       boot->machine.node, tofu_error_text(code));
	return -EIO;
}

static int area_create(struct tofu_boot *boot, char **why)
{
	size_t size = area_size(boot);
	int code;

	boot->word = aligned_alloc(PAGE_ALIGN, size);
	if (!boot->word)
		return -ENOMEM;
	memset(boot->word, 0, size);
	code = utofu_reg_mem_with_stag(boot->vcq, boot->word, size,
				       TOFU_BOOT_STAG, 0, &boot->stadd);
	if (code == UTOFU_SUCCESS)
		return 0;
	tofu_error_say(why, "node %u: cannot register %zu bytes: %s",
		       boot->machine.node, size, tofu_error_text(code));
	return -EIO;
}

static uint32_t hello_draw(void)
{
	uint32_t hello = 0;

	while (!hello) {
		if (getrandom(&hello, sizeof(hello), GRND_NONBLOCK) !=
		    sizeof(hello))
			hello = (uint32_t)tofu_now() ^ (uint32_t)getpid() << 16;
	}
	return hello;
}

/* CQ 0 of TNI 0 is that of one process of a node. */
static int alone_check(const struct tofu_machine *machine, char **why)
{
	struct tofu_job_info job;
	int code = tofu_query_job(&job);

	if (code == UTOFU_SUCCESS && job.ppn == 1)
		return 0;
	if (code == UTOFU_SUCCESS)
		tofu_error_say(why,
			       "node %u: this program is one process a node, and there are %u: start it without --ppn or TOFU_PPN",
			       machine->node, job.ppn);
	else
		tofu_error_say(why, "node %u: cannot tell what job this is: %s",
			       machine->node, tofu_error_text(code));
	return -EINVAL;
}

int tofu_boot_join(const struct tofu_machine *machine, unsigned int timeout,
		   char **why, struct tofu_boot **result)
{
	struct tofu_boot *boot = calloc(1, sizeof(*boot));
	int err;

	if (!boot)
		return -ENOMEM;
	boot->machine = *machine;
	boot->timeout = timeout;
	boot->hello = hello_draw();
	while (1ULL << boot->rounds < machine->nodes)
		boot->rounds++;
	err = alone_check(machine, why);
	if (!err)
		err = vcq_create(boot, why);
	if (!err)
		err = area_create(boot, why);
	if (!err)
		err = meet(boot, why);
	if (!err)
		err = tofu_boot_barrier(boot, why);
	if (err) {
		tofu_boot_abandon(boot);
		return err;
	}
	*result = boot;
	return 0;
}

int tofu_boot_leave(struct tofu_boot *boot, char **why)
{
	int err;

	boot->leaving = true;
	err = tofu_boot_barrier(boot, why);
	tofu_boot_abandon(boot);
	return err;
}

void tofu_boot_abandon(struct tofu_boot *boot)
{
	if (!boot)
		return;
	/* Deregisters, so that nobody writes the area after this. */
	if (boot->has_vcq)
		utofu_free_vcq(boot->vcq);
	free(boot->word);
	free(boot);
}
