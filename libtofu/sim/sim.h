/* SPDX-License-Identifier: MIT */
/*
 * sim: a home for a whole machine. One process runs the controllers of all
 * nodes, one network, and a program per node as a coroutine, in virtual time.
 *
 * Time goes on in windows as long as a hop. What one node does in a window
 * reaches no other node before the next window, not even by way of the links.
 * So the nodes are handled one after the other, each as far as the end of the
 * window, in any order and with the same result.
 *
 * A program takes no time but that which its calls of the library cost
 * (costs.h). Its processor and its node's controller meet only in those calls.
 *
 * May include: common/, utofu/, queue/, port/, node/, icc/, net/, uapi/, sim/mpi/
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "icc/icc.h"
#include "net/heap.h"
#include "net/network.h"
#include "port/soft.h"
#include "port/work.h"
#include "utofu/instance.h"

struct sim_task;
struct sim_node;
struct sim_doorbells;

/**
 * struct sim_mail - a packet between controllers
 * @next:    in a list of unused ones
 * @to:      node
 * @room:    bytes of payload for which there is memory
 * @pkt:     header
 * @payload: of the packet
 */
struct sim_mail {
	struct sim_mail *next;
	uint32_t to;
	uint32_t room;
	struct tofu_packet pkt;
	uint8_t payload[];
};

/**
 * struct sim_loop - a loop that has been seen to do nothing but poll
 * @key, @frame: as in struct sim_poll
 * @took:  how long its last round took
 * @rounds: rounds in a row that took so long, in all times that it was run
 * @restless: the program has left it though there was nothing to see
 */
struct sim_loop {
	const void *key;
	const void *frame;
	uint64_t took;
	uint32_t rounds;
	bool restless;
};

#define SIM_LOOPS 8

/**
 * struct sim_poll - the loop in which a program polls in vain
 *
 * A loop that finds nothing does the same again and again, and takes the same
 * time each round. Once that is certain of a loop, the program sleeps in it
 * until there is an event that it can see. Then it goes on with the round
 * during which that event comes, at the time at which that round begins: it
 * finds the event with the poll that would have found it.
 *
 * @key:   what the round's first poll looked at; NULL: no round
 * @frame: of that poll, which tells places in the program apart
 * @last_key, @last_frame: of the last poll
 * @began: when the round began
 * @took:  how long the last whole round took; 0: not known
 * @again: rounds in a row that took the same time
 * @polls: polls of this round
 * @seen:  something has happened in this round that the program can see
 * @came:  the same, since this poll
 * @quiet: rounds in a row, to the last whole one, in which nothing has
 * @asleep: the program sleeps since @began
 * @naps:  how often it slept for nothing in a row
 * @floor: when the event came that woke it. What it does earlier, in the rest
 *         of its last round, it does then: others have gone on.
 * @loop:  what is known of loops
 * @oldest: of them, modulo SIM_LOOPS
 */
struct sim_poll {
	const void *key;
	const void *frame;
	const void *last_key;
	const void *last_frame;
	uint64_t began;
	uint64_t took;
	unsigned int again;
	unsigned int polls;
	bool seen;
	bool came;
	unsigned int quiet;
	bool asleep;
	unsigned int naps;
	uint64_t floor;
	struct sim_loop loop[SIM_LOOPS];
	unsigned int oldest;
};

/**
 * struct sim_node - a node
 * @soft:   its port; first member
 * @sim:    the machine
 * @number: in the machine
 * @now:    what the node's controller and program see as the time, ns
 * @wake:   when the program goes on; UINT64_MAX: when something happens, or
 *          never
 * @due, @credits: of struct sim_mail, and of engines' numbers
 * @hash:   of its trace: what happened in it, and what left by its links. A
 *          window does all of the one before the other, so they have one each
 * @seq:    of the next packet
 * @open:   mail that the controller is writing
 * @instance: of the library
 * @task:   its program; NULL: not begun, or ended
 * @poll:   its polls
 * @taken:  queues and gates in use
 * @worked: tofu_worked while others run: work that is not spent yet, and what
 *          the round under way has found
 * @last_error: utofu_get_last_error()'s
 * @saved_errno: errno, while it does not run
 * @status: exit status, once @ended
 * @mark:   where its program stores marks
 * @moved:  bytes of packets that its engines have sent and received
 * @waited: by port: the network's last wait_ns
 * @trace:  file of its trace, or NULL
 * @doorbells: when they ring, or NULL: when the program rings them
 */
struct sim_node {
	struct tofu_soft soft;
	struct sim *sim;
	uint32_t number;
	uint64_t now;
	uint64_t wake;
	struct tofu_heap due;
	struct tofu_heap credits;
	uint64_t hash[2];
	uint64_t seq;
	struct sim_mail *open;
	struct tofu_instance *instance;
	struct sim_task *task;
	struct sim_poll poll;
	uint64_t taken[TOFU_SHARES][TOFU_TNIS_MAX];
	struct tofu_worked worked;
	int last_error;
	int saved_errno;
	int status;
	bool begun;
	bool ended;
	uint64_t mark;
	uint64_t moved;
	uint64_t waited[TOFU_PORTS];
	struct tofu_trace *trace;
	struct sim_doorbells *doorbells;
};

/**
 * struct sim_software - what the nodes' processors run
 * @run:    the program of a node, on a stack of its own; returns its status
 * @enter:  bring the node's data in, before its program goes on
 * @place:  where an address of the node is now; cuts @len to what is in one
 *          piece there
 * @irq:    an interrupt of the node's controller; NULL: no program enables any
 */
struct sim_software {
	int (*run)(struct sim_node *node);
	void (*enter)(struct sim_node *node);
	void *(*place)(struct sim_node *node, uint64_t addr, size_t *len);
	void (*irq)(struct sim_node *node);
};

/**
 * struct sim_params - what machine, and what runs on it
 * @shape, @machine: of the network
 * @nodes:  nodes that run the program: the first ones
 * @tnis:   of each node
 * @armw:   there are remote atomics
 * @awake:  programs make every poll, and do not sleep through any
 * @stack:  bytes of a program's stack
 * @software: how to run the program
 * @program: of @software
 * @argv:   the program's arguments
 * @trace:  folder for traces, or NULL
 * @doorbells: folder of traces whose doorbells ring again, or NULL
 * @first, @count: the block of nodes that this process has
 */
struct sim_params {
	struct tofu_shape shape;
	const struct tofu_preset *machine;
	uint32_t nodes;
	unsigned int tnis;
	bool armw;
	bool awake;
	size_t stack;
	const struct sim_software *software;
	void *program;
	int argc;
	char **argv;
	const char *trace;
	const char *doorbells;
	uint32_t first;
	uint32_t count;
};

/**
 * struct sim_stats - what a run has done so far
 * @time:    virtual time, ns
 * @windows: how many
 * @packets: that have entered the network
 * @turns:   how often a program went on
 * @running: programs that have not ended
 */
struct sim_stats {
	uint64_t time;
	uint64_t windows;
	uint64_t packets;
	uint64_t turns;
	uint32_t running;
};

/**
 * struct sim - the machine, or the block of it that this process has
 * @params: as given
 * @node:   @params.count nodes
 * @next:   by node: when there is something to do, ns
 * @group:  by GROUP nodes: the least of their @next
 * @until:  end of the window
 * @event:  time of the last event that was no nap's end, or is known to come
 * @stop:   why to end early, or NULL
 */
struct sim {
	struct sim_params params;
	struct sim_node *node;
	struct tofu_net *net;
	uint64_t *next;
	uint64_t *group;
	uint64_t until;
	uint64_t event;
	struct sim_mail *spare_small;
	struct sim_mail *spare_large;
	struct sim_stats stats;
	const char *stop;
};

/* ---- machine.c: the loop ---- */

/* sim_create - make the machine; 0 or a negative errno, @why to be freed */
int sim_create(const struct sim_params *params, struct sim **sim, char **why);
void sim_destroy(struct sim *sim);

/**
 * sim_window - handle the window that begins at a time
 * @from: sim_next(), or the least of it among the processes of the machine
 *
 * Return: false where nothing is left to do, or sim.stop is set.
 */
bool sim_window(struct sim *sim, uint64_t from);

/* sim_next - when there is something to do; UINT64_MAX: never */
uint64_t sim_next(const struct sim *sim);

/* sim_node_at - a node of this process's block, or NULL */
static inline struct sim_node *sim_node_at(struct sim *sim, uint32_t number)
{
	const uint32_t index = number - sim->params.first;

	return index < sim->params.count ? &sim->node[index] : NULL;
}

/* sim_touch - a node has something to do at @time, perhaps earlier than known
 */
void sim_touch(struct sim *sim, uint32_t number, uint64_t time);

/* sim_event - something happens at @time, so that it is worth while to wait */
static inline void sim_event(struct sim *sim, uint64_t time)
{
	if (time > sim->event)
		sim->event = time;
}

/* sim_node_running - the node whose program runs now, or NULL */
struct sim_node *sim_node_running(void);

/* ---- node.c: a controller's home ---- */

int sim_node_create(struct sim *sim, struct sim_node *node, uint32_t number);
void sim_node_destroy(struct sim_node *node);

/* sim_node_run - handle all of a node's events before @until */
void sim_node_run(struct sim_node *node, uint64_t until);

/* sim_node_events - when the node's controller has something to do */
uint64_t sim_node_events(const struct sim_node *node);

/* sim_node_unknown - before that no packet is due that is not known to be */
uint64_t sim_node_unknown(const struct sim_node *node);

/* sim_node_next - when the node has: controller, program, or links */
uint64_t sim_node_next(const struct sim_node *node);

struct sim_mail *sim_mail_new(struct sim *sim, size_t payload);
void sim_mail_free(struct sim *sim, struct sim_mail *mail);

/* ---- prefetch.c ---- */

/**
 * sim_prefetch - what a node's sim_node_run() needs is to be in the caches
 * @step: 0 to SIM_PREFETCHES - 1, one after the other, with some time between
 */
void sim_prefetch(const struct sim_node *node, unsigned int step);
#define SIM_PREFETCHES 5

/* ---- port.c ---- */

/* sim_port_init - set up the node's port, once it has a controller */
void sim_port_init(struct sim_node *node);

/* sim_port_open - tofu_port_home: the port of the node that runs */
int sim_port_open(struct tofu_port_dev **port);

/* ---- processor.c: a program's time ---- */

/* sim_programs - programs that sim/program.h loads: @program is one */
extern const struct sim_software sim_programs;

/* sim_begin - make the coroutine of the node's program */
int sim_begin(struct sim_node *node);

/* sim_go_on - the program runs until it has spent time */
void sim_go_on(struct sim_node *node);

/* sim_spend - the program that runs has computed for so long */
void sim_spend(struct sim_node *node, uint64_t ns);

/**
 * sim_spend_work - it has worked as the library has counted
 *
 * What works on memory takes the longer of its instructions and of its bytes,
 * with the bandwidth that the engines leave meanwhile.
 */
void sim_spend_work(struct sim_node *node);

/*
 * sim_time - what a clock shows the program: with the work not yet spent, as if
 * the engines moved nothing meanwhile
 */
uint64_t sim_time(const struct sim_node *node);

/*
 * sim_poll_empty - it has polled @key, a queue, in vain
 *
 * Return: whether something has come while it spent the time of its work: the
 * poll came later than it looked.
 */
bool sim_poll_empty(struct sim_node *node, const void *key);

/* sim_yield - it has yielded the processor, which waiting programs do, too */
void sim_yield(struct sim_node *node);

/* sim_wake - something will happen at @time that a sleeping program can see */
void sim_wake(struct sim_node *node, uint64_t time);

/* sim_see - something has happened that the program can see */
void sim_see(struct sim_node *node);

/* sim_act - the program does something that others see: not before its floor */
void sim_act(struct sim_node *node);

/* ---- arena.c: memory for rings and tables ---- */

/*
 * Zeroed, aligned to a page; what is not touched takes no memory. All of it is
 * one mapping, of which a process cannot have many.
 */
int sim_arena_create(size_t size);
void *sim_arena_alloc(size_t size);
void sim_arena_free(void *at, size_t size);
bool sim_arena_has(const void *at);
void sim_arena_destroy(void);

/* ---- heap.c: all other memory ---- */

void sim_heap_begin(void);

/* sim_heap_grown - take large pages for what the heap has grown by */
void sim_heap_grown(void);

/* sim_heap_advise - take large pages for dense memory */
void sim_heap_advise(char *from, char *end);

#endif /* SIM_SIM_H */
