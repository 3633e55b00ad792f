// SPDX-License-Identifier: MIT
/*
 * A peer that writes invalid data into the shared file. It is dropped, no other
 * node is harmed, and it can come back.
 */
#define _GNU_SOURCE
#include "fabric-util.h"

#include <fcntl.h>

#include "fabric/process.h"

#include "harness.h"

#define NODES 3
#define VICTIM 0
#define ENEMY 1
#define FRIEND 2

FIXTURE(hostile)
{
	int fd;
	char path[32];
	uint8_t *base;
	struct tofu_fabric *victim, *enemy, *friend;
	struct sink sink;
};

FIXTURE_SETUP(hostile)
{
	self->fd = machine_create(NODES, self->path);
	ASSERT_GE(self->fd, 0);
	self->base = machine_map(self->fd, NODES);
	ASSERT_NE(MAP_FAILED, self->base);
	self->victim = attach(self->path, VICTIM);
	self->enemy = attach(self->path, ENEMY);
	self->friend = attach(self->path, FRIEND);
	ASSERT_NE(NULL, self->victim);
	ASSERT_NE(NULL, self->enemy);
	ASSERT_NE(NULL, self->friend);
}

FIXTURE_TEARDOWN(hostile)
{
	tofu_fabric_detach(self->victim);
	tofu_fabric_detach(self->enemy);
	tofu_fabric_detach(self->friend);
	munmap(self->base, tofu_shm_size(NODES));
	close(self->fd);
}

static struct tofu_shm_node *entry(uint8_t *base, uint32_t node)
{
	return (void *)(base + tofu_shm_node_offset(node));
}

static struct tofu_shm_ring *ring(uint8_t *base, uint32_t dst, uint32_t src,
				  enum tofu_class class_)
{
	return (void *)(base +
			tofu_shm_ring_offset(
				NODES,
				tofu_shm_ring_index(NODES, dst, src, class_)));
}

static uint8_t *data(uint8_t *base, uint32_t dst, uint32_t src,
		     enum tofu_class class_)
{
	return base +
	       tofu_shm_data_offset(
		       NODES, tofu_shm_ring_index(NODES, dst, src, class_));
}

/* The record that the enemy has just sent to the victim. */
static struct tofu_shm_record *sent(uint8_t *base)
{
	struct tofu_shm_ring *lines = ring(base, VICTIM, ENEMY, TOFU_REQUEST);

	return (void *)(data(base, VICTIM, ENEMY, TOFU_REQUEST) +
			lines->head % TOFU_SHM_RING);
}

/* Before an attack: the enemy is a peer like any other. */
#define EXPECT_MET()                                                           \
	do {                                                                   \
		memset(&self->sink, 0, sizeof(self->sink));                    \
		EXPECT_EQ(0, send_one(self->enemy, VICTIM, TOFU_REQUEST, 1));  \
		EXPECT_EQ(0, send_one(self->enemy, VICTIM, TOFU_RESPONSE, 1)); \
		EXPECT_TRUE(sink_wait(self->victim, &self->sink, 2));          \
		self->sink.count = 0;                                          \
	} while (0)

/*
 * After an attack: the enemy is dropped and its packets are not delivered, the
 * friend's packets are, and the enemy's next generation is a normal peer.
 */
#define EXPECT_DROPPED_AND_BACK()                                              \
	do {                                                                   \
		EXPECT_EQ(0, send_one(self->friend, VICTIM, TOFU_REQUEST, 5)); \
		EXPECT_TRUE(sink_wait_down(self->victim, &self->sink, 1));     \
		EXPECT_EQ(ENEMY, self->sink.down_node);                        \
		EXPECT_TRUE(sink_wait(self->victim, &self->sink, 1));          \
		sink_poll(self->victim, &self->sink);                          \
		EXPECT_EQ(1, self->sink.count);                                \
		EXPECT_EQ(FRIEND, self->sink.seen[0].src);                     \
		EXPECT_EQ(-EHOSTDOWN,                                          \
			  send_one(self->victim, ENEMY, TOFU_REQUEST, 6));     \
		tofu_fabric_detach(self->enemy);                               \
		self->enemy = attach(self->path, ENEMY);                       \
		ASSERT_NE(NULL, self->enemy);                                  \
		EXPECT_EQ(0, send_one(self->enemy, VICTIM, TOFU_REQUEST, 7));  \
		EXPECT_TRUE(sink_wait(self->victim, &self->sink, 2));          \
		EXPECT_EQ(7, self->sink.seen[1].tid);                          \
		EXPECT_EQ(0, send_one(self->victim, ENEMY, TOFU_REQUEST, 8));  \
		self->sink.count = 0;                                          \
		EXPECT_TRUE(sink_wait(self->enemy, &self->sink, 1));           \
		EXPECT_EQ(8, self->sink.seen[0].tid);                          \
	} while (0)

/* ---- Positions ---- */

static const int64_t moves[] = {
	TOFU_SHM_RING + TOFU_SHM_ALIGN, /* far ahead */
	-TOFU_SHM_ALIGN,		/* backwards */
	8,				/* unaligned */
	INT64_MIN,
};

static void lie_tail(uint8_t *base, enum tofu_class class_, int64_t move)
{
	struct tofu_shm_ring *lines = ring(base, VICTIM, ENEMY, class_);

	lines->tail = lines->head + (uint64_t)move;
}

TEST_F(hostile, tails_are_not_believed)
{
	for (unsigned int i = 0; i < 2 * sizeof(moves) / sizeof(moves[0]);
	     i++) {
		enum tofu_class class_ = i % TOFU_CLASSES;

		EXPECT_MET();
		ASSERT_EQ(0, send_one(self->enemy, VICTIM, class_, 2));
		lie_tail(self->base, class_, moves[i / 2]);
		EXPECT_DROPPED_AND_BACK();
	}
}

TEST_F(hostile, heads_are_not_believed)
{
	struct tofu_shm_ring *lines =
		ring(self->base, ENEMY, VICTIM, TOFU_REQUEST);
	int err;

	EXPECT_MET();
	ASSERT_EQ(0, send_one(self->victim, ENEMY, TOFU_REQUEST, 2));
	ASSERT_TRUE(sink_wait(self->enemy, &self->sink, 1));
	self->sink.count = 0;
	/* Ahead of the tail; a head far behind it would only mean full. */
	lines->head = lines->tail + 2 * TOFU_SHM_RING;
	do {
		err = send_one(self->victim, ENEMY, TOFU_REQUEST, 3);
	} while (!err);
	EXPECT_EQ(-EHOSTDOWN, err);
	EXPECT_DROPPED_AND_BACK();
}

/* The last poll before sleeping finds it; no later event would. */
TEST_F(hostile, who_sleeps_does_not_wait_for_a_liar)
{
	struct tofu_shm_ring *lines =
		ring(self->base, ENEMY, VICTIM, TOFU_RESPONSE);
	struct pollfd pfd = { .fd = tofu_fabric_fd(self->victim),
			      .events = POLLIN };
	struct tofu_ref ref = { 0x1000, 64 };

	EXPECT_MET();
	ASSERT_EQ(0, send_flags(self->victim, ENEMY, TOFU_RESPONSE, 1, &ref,
				sizeof(ref), TOFU_PKT_F_REFS));
	sink_poll(self->enemy, &self->sink);
	self->sink.count = 0;
	ASSERT_EQ(0, send_flags(self->victim, ENEMY, TOFU_RESPONSE, 2, &ref,
				sizeof(ref), TOFU_PKT_F_REFS));
	tofu_fabric_fence_begin(self->victim);
	tofu_fabric_fd_ack(self->victim);
	tofu_fabric_want_wake(self->victim, true);
	EXPECT_FALSE(sink_poll(self->victim, &self->sink));
	lines->head = lines->tail + 2 * TOFU_SHM_RING;
	EXPECT_FALSE(tofu_fabric_fence_done(self->victim));
	ASSERT_EQ(1, poll(&pfd, 1, 0));
	sink_poll(self->victim, &self->sink);
	EXPECT_EQ(1, self->sink.down);
	EXPECT_TRUE(tofu_fabric_fence_done(self->victim));
}

/* ---- Another's name ---- */

/* A node trusts its own packets, so no peer may forge one. */
TEST_F(hostile, nobody_speaks_for_the_node_itself)
{
	struct tofu_shm_ring *lines =
		ring(self->base, VICTIM, VICTIM, TOFU_REQUEST);
	uint32_t gen = tofu_shm_gen(entry(self->base, VICTIM)->life);
	struct tofu_shm_record record = {
		.bytes = TOFU_SHM_RECORD(0),
		.src_gen = gen,
		.dst_gen = gen,
		.packet = { .src = VICTIM, .type = TOFU_PKT_PUT, .tid = 2 },
	};

	/* The victim has sent to itself before. */
	ASSERT_EQ(0, send_one(self->victim, VICTIM, TOFU_REQUEST, 1));
	ASSERT_TRUE(sink_wait(self->victim, &self->sink, 1));
	lines->conn = TOFU_SHM_CONN(gen, gen);
	memcpy(data(self->base, VICTIM, VICTIM, TOFU_REQUEST) +
		       lines->tail % TOFU_SHM_RING,
	       &record, sizeof(record));
	lines->tail += record.bytes;
	entry(self->base, VICTIM)->pending[0] |= 1 << VICTIM;
	sink_poll(self->victim, &self->sink);
	EXPECT_EQ(1, self->sink.count);
	/* It still can. */
	ASSERT_EQ(0, send_one(self->victim, VICTIM, TOFU_REQUEST, 3));
	ASSERT_TRUE(sink_wait(self->victim, &self->sink, 2));
	EXPECT_EQ(3, self->sink.seen[1].tid);
}

/* ---- Records ---- */

static void zero_bytes(struct tofu_shm_record *record)
{
	record->bytes = 0;
}

static void odd_bytes(struct tofu_shm_record *record)
{
	record->bytes += 8;
}

static void many_bytes(struct tofu_shm_record *record)
{
	record->bytes = 0xffffffc0;
}

static void beyond_the_tail(struct tofu_shm_record *record)
{
	record->bytes += TOFU_SHM_ALIGN;
}

static void no_packet(struct tofu_shm_record *record)
{
	record->bytes = TOFU_SHM_ALIGN;
}

static void other_source(struct tofu_shm_record *record)
{
	record->packet.src = FRIEND;
}

static void long_payload(struct tofu_shm_record *record)
{
	record->packet.payload = 1024;
}

static void huge_payload(struct tofu_shm_record *record)
{
	record->packet.payload = UINT32_MAX;
}

static void other_class(struct tofu_shm_record *record)
{
	record->packet.type = TOFU_PKT_DONE;
}

static const struct {
	const char *what;
	void (*tell)(struct tofu_shm_record *record);
} lies[] = {
	{ "no bytes", zero_bytes },
	{ "unaligned bytes", odd_bytes },
	{ "more bytes than there are", many_bytes },
	{ "bytes beyond the tail", beyond_the_tail },
	{ "too short for a packet", no_packet },
	{ "another's number", other_source },
	{ "payload beyond the record", long_payload },
	{ "huge payload", huge_payload },
	{ "a response among requests", other_class },
};

TEST_F(hostile, records_are_not_believed)
{
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		EXPECT_MET();
		ASSERT_EQ(0, send_one(self->enemy, VICTIM, TOFU_REQUEST, 2));
		lies[i].tell(sent(self->base));
		TH_LOG("%s", lies[i].what);
		EXPECT_DROPPED_AND_BACK();
	}
}

/* One whose record is large enough all the same */
TEST_F(hostile, more_payload_than_packets_have_is_not_believed)
{
	static uint8_t most[TOFU_PKT_INLINE_MAX];

	EXPECT_EQ(TOFU_SHM_RECORD(TOFU_PKT_INLINE_MAX),
		  TOFU_SHM_RECORD(TOFU_PKT_INLINE_MAX + 1));
	EXPECT_MET();
	ASSERT_EQ(0, send_flags(self->enemy, VICTIM, TOFU_REQUEST, 2, most,
				sizeof(most), 0));
	sent(self->base)->packet.payload++;
	EXPECT_DROPPED_AND_BACK();
}

/* Records of another generation are late, not invalid. */
TEST_F(hostile, records_of_another_generation_are_dropped)
{
	ASSERT_EQ(0, send_one(self->enemy, VICTIM, TOFU_REQUEST, 1));
	ASSERT_TRUE(sink_wait(self->victim, &self->sink, 1));
	ASSERT_EQ(0, send_one(self->enemy, VICTIM, TOFU_REQUEST, 2));
	sent(self->base)->src_gen++;
	sink_poll(self->victim, &self->sink);
	ASSERT_EQ(0, send_one(self->enemy, VICTIM, TOFU_REQUEST, 3));
	sent(self->base)->dst_gen++;
	sink_poll(self->victim, &self->sink);
	ASSERT_EQ(0, send_one(self->enemy, VICTIM, TOFU_REQUEST, 4));
	ASSERT_TRUE(sink_wait(self->victim, &self->sink, 2));
	EXPECT_EQ(4, self->sink.seen[1].tid);
	EXPECT_EQ(0, self->sink.down);
}

/* ---- Entries ---- */

TEST_F(hostile, entries_are_not_believed)
{
	struct tofu_shm_node *node = entry(self->base, ENEMY);
	const struct tofu_shm_node good = *node;
	int file = memfd_create("no pipe", 0);
	int null = open("/dev/null", O_RDWR);

	node->wake_fd = file;
	EXPECT_EQ(-EHOSTDOWN, send_one(self->victim, ENEMY, TOFU_REQUEST, 1));
	node->wake_fd = null;
	EXPECT_EQ(-EHOSTDOWN, send_one(self->victim, ENEMY, TOFU_REQUEST, 1));
	node->wake_fd = -1;
	EXPECT_EQ(-EHOSTDOWN, send_one(self->victim, ENEMY, TOFU_REQUEST, 1));
	node->wake_fd = good.wake_fd;
	node->pid = 0;
	EXPECT_EQ(-EHOSTDOWN, send_one(self->victim, ENEMY, TOFU_REQUEST, 1));
	node->pid = -1;
	EXPECT_EQ(-EHOSTDOWN, send_one(self->victim, ENEMY, TOFU_REQUEST, 1));
	node->pid = 1;
	EXPECT_EQ(-EHOSTDOWN, send_one(self->victim, ENEMY, TOFU_REQUEST, 1));
	/* Bits of nodes that do not exist. */
	entry(self->base, VICTIM)->pending[0] = UINT64_MAX;
	entry(self->base, VICTIM)->pending[15] = UINT64_MAX;
	EXPECT_FALSE(sink_poll(self->victim, &self->sink));
	close(file);
	close(null);
}

/* ---- A process that is not the node ---- */

struct forgery {
	struct tofu_shm_node *node;
	const struct tofu_shm_node *friend;
	int fabric;
	int other;
};

static void no_file(const struct forgery *forgery)
{
	forgery->node->file_fd = -1;
}

static void other_file(const struct forgery *forgery)
{
	forgery->node->file_fd = forgery->other;
}

static void without_lock(const struct forgery *forgery)
{
	forgery->node->file_fd = forgery->fabric;
}

static void other_node(const struct forgery *forgery)
{
	forgery->node->wake_fd = forgery->friend->wake_fd;
	forgery->node->file_fd = forgery->friend->file_fd;
}

static void other_life(const struct forgery *forgery)
{
	forgery->node->life -= 2;
}

/* Its memory would be read out of any process that the entry names. */
TEST_F(hostile, a_process_is_a_node_by_its_lock_only)
{
	static void (*const lies[])(const struct forgery *) = {
		no_file, other_file, without_lock, other_node, other_life,
	};
	const struct forgery forgery = {
		.node = entry(self->base, ENEMY),
		.friend = entry(self->base, FRIEND),
		.fabric = self->fd,
		.other = memfd_create("no fabric", 0),
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		lies[i](&forgery);
		EXPECT_EQ(-EHOSTDOWN,
			  send_one(self->victim, ENEMY, TOFU_REQUEST, i));
		EXPECT_FALSE(tofu_fabric_up(self->victim, ENEMY));
		tofu_fabric_detach(self->enemy);
		self->enemy = attach(self->path, ENEMY);
		ASSERT_NE(NULL, self->enemy);
		EXPECT_EQ(0, send_one(self->victim, ENEMY, TOFU_REQUEST, i));
		sink_poll(self->victim, &self->sink);
		tofu_fabric_detach(self->enemy);
		sink_poll(self->victim, &self->sink);
		self->enemy = attach(self->path, ENEMY);
		ASSERT_NE(NULL, self->enemy);
	}
	close(forgery.other);
}

/* Takes the enemy's number with all that a node has but its user. */
static void intrude(uint8_t *base, int fabric, int ready)
{
	struct tofu_shm_node *node = entry(base, ENEMY);
	const uint32_t gen = tofu_shm_gen(node->life) + 1;
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)tofu_shm_life_lock(ENEMY, gen),
		.l_len = 1,
	};
	int pipes[2];

	if (pipe(pipes) || fcntl(fabric, F_OFD_SETLK, &lock) ||
	    setresuid(65534, 65534, 65534) ||
	    tofu_process_start(getpid(), &node->start))
		_exit(1);
	node->pid = getpid();
	node->wake_fd = pipes[1];
	node->file_fd = fabric;
	node->life = TOFU_SET(TOFU_SHM_LIFE_GEN, gen) | TOFU_SHM_LIFE_UP;
	_exit(write(ready, "", 1) != 1 || pause());
}

TEST_F(hostile, a_process_of_another_user_is_no_node)
{
	int ready[2];
	char byte;
	pid_t child;

	if (geteuid())
		SKIP(return, "only root can be another user");
	tofu_fabric_detach(self->enemy);
	ASSERT_EQ(0, pipe(ready));
	child = start_child();
	if (!child)
		intrude(self->base, self->fd, ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	EXPECT_EQ(-EHOSTDOWN, send_one(self->victim, ENEMY, TOFU_REQUEST, 1));
	EXPECT_EQ(-EHOSTDOWN,
		  tofu_fabric_read(self->victim, ENEMY, 0, &byte, 1));
	kill_child(child);
	self->enemy = attach(self->path, ENEMY);
	ASSERT_NE(NULL, self->enemy);
	close(ready[0]);
	close(ready[1]);
}

/* ---- Memory ---- */

TEST_F(hostile, tables_of_memory_are_not_believed)
{
	struct tofu_shm_node *node = entry(self->base, ENEMY);
	int file = memfd_create("ram", 0), null = open("/dev/zero", O_RDWR);
	const struct tofu_shm_ram bad[] = {
		{ .addr = 0, .len = 0, .fd = file },
		{ .addr = 1, .len = UINT64_MAX, .fd = file },
		{ .addr = 0, .len = 8192, .fd = file },
		{ .addr = 0, .len = UINT64_MAX, .fd = file },
		{ .addr = 0,
		  .len = 4096,
		  .offset = UINT64_MAX - 4095,
		  .fd = file },
		{ .addr = 0, .len = 4096, .offset = 1, .fd = file },
		{ .addr = 0,
		  .len = 1ULL << 62,
		  .offset = 1ULL << 62,
		  .fd = file },
		{ .addr = 0, .len = 4096, .fd = null },
		{ .addr = 0, .len = 4096, .fd = 12345 },
		{ .addr = 0, .len = 4096, .fd = -2 },
		{ .addr = 0, .len = 4096, .fd = INT32_MIN },
		{ .addr = 0, .len = 4096, .fd = -1 },
	};
	char byte;

	ASSERT_EQ(0, ftruncate(file, 4096));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		node->ram[0] = bad[i];
		node->ram_count = 1;
		node->ram_seq += 2;
		EXPECT_EQ(-EFAULT,
			  tofu_fabric_read(self->victim, ENEMY, 1, &byte, 1));
		EXPECT_EQ(-EFAULT, tofu_fabric_read(self->victim, ENEMY,
						    UINT64_MAX, &byte, 1));
	}
	node->ram[0] = (struct tofu_shm_ram){ .len = 4096, .fd = file };
	node->ram_count = TOFU_FABRIC_RAM_MAX + 1;
	node->ram_seq += 2;
	EXPECT_EQ(-EFAULT, tofu_fabric_read(self->victim, ENEMY, 0, &byte, 1));
	/* The writer never finishes. */
	node->ram_count = 1;
	node->ram_seq += 1;
	EXPECT_EQ(-EFAULT, tofu_fabric_read(self->victim, ENEMY, 0, &byte, 1));
	node->ram_seq += 1;
	EXPECT_EQ(0, tofu_fabric_read(self->victim, ENEMY, 0, &byte, 1));
	close(file);
	close(null);
}

/* ---- Anything ---- */

static uint64_t random64(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Overwrite any word of the enemy's entry, or of its rings. */
static void scribble(uint8_t *base, uint64_t *state)
{
	enum tofu_class class_ = random64(state) % TOFU_CLASSES;
	bool to = random64(state) & 1;
	uint32_t dst = to ? VICTIM : ENEMY, src = to ? ENEMY : VICTIM;
	struct tofu_shm_ring *lines = ring(base, dst, src, class_);
	uint64_t *word;

	switch (random64(state) % 8) {
	case 0:
		word = (uint64_t *)lines + random64(state) % 16;
		break;
	case 1:
		word = (uint64_t *)entry(base, ENEMY) + random64(state) % 256;
		break;
	case 2:
		word = &entry(base, VICTIM)->pending[random64(state) % 16];
		break;
	default:
		word = (uint64_t *)(void *)(data(base, dst, src, class_) +
					    ((lines->tail & ~7ULL) -
					     8 * (random64(state) % 64)) %
						    TOFU_SHM_RING);
	}
	*word = random64(state) & 1 ? random64(state)
				    : *word + random64(state) % 256 - 128;
}

TEST_F_TIMEOUT(hostile, nothing_that_is_written_does_harm, 120)
{
	uint64_t state = 88172645463325252ULL;
	uint8_t payload[64] = { 0 };
	uint64_t heard = 0;
	char byte;

	for (unsigned int round = 0; round < 3000; round++) {
		send_flags(self->enemy, VICTIM, round % 2, round, payload,
			   round % 64, 0);
		send_one(self->victim, ENEMY, round / 2 % 2, round);
		for (uint64_t i = random64(&state) % 4; i; i--)
			scribble(self->base, &state);
		sink_poll(self->victim, &self->sink);
		tofu_fabric_read(self->victim, ENEMY, random64(&state) % 8192,
				 &byte, 1);
		tofu_fabric_fence_begin(self->victim);
		tofu_fabric_fence_done(self->victim);
		tofu_fabric_fd_ack(self->victim);
		if (round % 16)
			continue;
		/* With its entry restored it comes back; all others stayed. */
		entry(self->base, ENEMY)->life &= ~TOFU_SHM_LIFE_UP;
		tofu_fabric_detach(self->enemy);
		self->enemy = attach(self->path, ENEMY);
		ASSERT_NE(NULL, self->enemy);
		self->sink.count = 0;
		ASSERT_TRUE(
			send_wait(self->friend, VICTIM, TOFU_REQUEST, round));
		sink_poll(self->victim, &self->sink);
		for (unsigned int i = 0; i < self->sink.count; i++)
			heard += self->sink.seen[i].src == FRIEND;
	}
	EXPECT_EQ(188, heard);
}

TEST_HARNESS_MAIN
