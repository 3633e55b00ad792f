/* SPDX-License-Identifier: MIT */
/*
 * tofu-bridge: options, and the loop.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "bridge/bridge.h"
#include "common/args.h"

#define TICK_MS 50
#define DRAIN_MS 1000
/* Events are looked for not more often, since each look takes several system calls. */
#define LOOK_US 1000
#define TIMED_NAP_NS 20000
/* Nodes in virtual time need the processors all the time. */
#define TIMED_SPIN_US 20

/* With --while-used: how long to wait for nodes, after the last and for the first */
#define UNUSED_MS 500
#define COMING_MS 60000
#define EVENTS 16
/* A yield that takes as long has given a time slice to another program */
#define SLICE_US 200
/* For how long after that there is none between two turns with work */
#define CROWDED_US 20000

/* Received data that no node has read yet; and what connections send */
#define MEMORY_MIB 1024
#define SEND_BUFFERS 65536

static const char usage[] =
	"usage: tofu-bridge [OPTION]... --fabric PATH --hosts TABLE\n"
	"Join the fabric of this host with those of others: every node of another host\n"
	"is in this fabric, too. Runs until a signal ends it.\n"
	"\n"
	"  -f, --fabric PATH      the shared file of this host, whose shape is that of the\n"
	"                         whole machine\n"
	"  -H, --hosts TABLE      NAME:NODES[@ADDRESS[:PORT]],... or a file of such lines;\n"
	"                         the first host has the nodes from 0 on. The same everywhere\n"
	"      --self NAME        which of them this is (default: the host's name)\n"
	"      --token FILE       secret that all hosts have (default: the variable\n"
	"                         TOFU_BRIDGE_TOKEN)\n"
	"      --port N           port of hosts that have none in the table (default 7410)\n"
	"      --provider NAME    of libfabric, with connected endpoints (default tcp)\n"
	"      --timeout SECONDS  a host that is silent for so long is gone (default 15)\n"
	"      --memory MIB       at most so much of received data waits for local nodes,\n"
	"                         beside what was in packets (default 1024)\n"
	"      --spin US          look so long for more before sleeping (default 200; in\n"
	"                         virtual time 20 at most)\n"
	"      --ready FD         write a byte there when nodes can be started\n"
	"      --while-used       in the background, until the nodes of this host have gone\n"
	"  -q, --quiet            print only what goes wrong\n"
	"  -h, --help             print this and exit\n"
	"\n"
	"A host listens at its address in the table; one without an address at 127.0.0.1.\n"
	"Exit status: 0 after SIGTERM or SIGINT, 1 when it cannot work, 2 for wrong\n"
	"options.\n";

struct command {
	const char *fabric;
	const char *hosts;
	const char *self;
	const char *token;
	const char *provider;
	unsigned int port;
	unsigned int timeout;
	unsigned int memory;
	unsigned int spin;
	int ready;
	bool while_used;
	bool quiet;
};

#define AT(member) TOFU_AT(struct command, member)
#define TEXT(member) .kind = TOFU_ARG_TEXT, AT(member)
#define NUMBER(member, least, most) \
	.kind = TOFU_ARG_NUMBER, AT(member), .min = least, .max = most

static const struct tofu_option table[] = {
	{ "fabric", TEXT(fabric), .letter = 'f' },
	{ "hosts", TEXT(hosts), .letter = 'H' },
	{ "self", TEXT(self) },
	{ "token", TEXT(token) },
	{ "provider", TEXT(provider) },
	{ "port", NUMBER(port, 1, UINT16_MAX) },
	{ "timeout", NUMBER(timeout, 1, 86400) },
	{ "memory", NUMBER(memory, 16, 1048576) },
	{ "spin", NUMBER(spin, 0, 1000000) },
	{ "ready", NUMBER(ready, 0, 1 << 20) },
	{ "while-used", TOFU_ARG_SET, AT(while_used), .min = true },
	{ "quiet", TOFU_ARG_SET, AT(quiet), .min = true, .letter = 'q' },
};

static const struct tofu_args args = { TOFU_ARGS(usage, table),
				       .letters = "f:H:qh" };

/* ---- Time ---- */

uint64_t bridge_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

int64_t bridge_now_ms(void)
{
	return (int64_t)(bridge_now_us() / 1000);
}

/* ---- Sleeping ---- */

static void watch(struct bridge *bridge, int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	/* It leaves by itself when it is closed. */
	if (epoll_ctl(bridge->epoll, EPOLL_CTL_ADD, fd, &event) &&
	    errno != EEXIST)
		bridge_say(bridge, "cannot wait for a descriptor: %s",
			   strerror(errno));
}

void bridge_watch(struct bridge *bridge, int fd, struct proxy *proxy)
{
	watch(bridge, fd, proxy);
}

void bridge_watch_messages(struct bridge *bridge, int fd)
{
	watch(bridge, fd, bridge);
}

static int watch_signals(struct bridge *bridge)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		err(STATUS_FAILED, "signalfd");
	bridge_watch(bridge, fd, NULL);
	return fd;
}

/* Nodes first: the last turn has mostly ended with a yield, in which they ran. */
static bool progress(struct bridge *bridge, bool events)
{
	bool work = proxies_poll(bridge);

	work |= in_progress(bridge);
	work |= clock_progress(bridge, events);
	for (struct stream *s = bridge->streams; s; s = s->next)
		work |= stream_flush(s);
	work |= streams_progress(bridge, events);
	if (events)
		bridge->looked = bridge_now_us();
	return work;
}

static void wait_for(struct bridge *bridge, const struct timespec *limit)
{
	struct epoll_event events[EVENTS];
	int count = epoll_pwait2(bridge->epoll, events, EVENTS, limit, NULL);

	for (int i = 0; i < count; i++) {
		void *what = events[i].data.ptr;

		if (!what)
			bridge->looked = 0;
		else if (what != bridge)
			proxy_woken(what);
	}
}

/*
 * Nodes are asked to wake this thread, then it looks once more: one of the two
 * finds what comes meanwhile. An event does not get lost when it is not looked for
 * now: its descriptor stays readable, and it is looked for soon.
 */
static void sleep_until_woken(struct bridge *bridge)
{
	static const struct timespec soon = { .tv_nsec = LOOK_US * 1000 },
				     tick = { .tv_nsec = TICK_MS * 1000000 };
	const bool looks = bridge_now_us() - bridge->looked >= LOOK_US;

	proxies_want_wake(bridge, true);
	if (!progress(bridge, looks) && streams_may_sleep(bridge, looks))
		wait_for(bridge, looks && !streams_wait(bridge) ? &tick : &soon);
	proxies_want_wake(bridge, false);
}

/* In virtual time: nobody wakes this thread for the words of local nodes. */
static void nap(struct bridge *bridge)
{
	static const struct timespec limit = { .tv_nsec = TIMED_NAP_NS };
	const bool looks = bridge_now_us() - bridge->looked >= LOOK_US;

	if (looks && progress(bridge, true))
		return;
	if (streams_may_sleep(bridge, looks))
		wait_for(bridge, &limit);
}

static bool has_signal(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof(info)) == sizeof(info);
}

/* What local nodes have sent before they left still goes, and that they left. */
static void drain(struct bridge *bridge)
{
	const int64_t end = bridge_now_ms() + DRAIN_MS;

	do {
		links_tend(bridge, true);
	} while (progress(bridge, true) && bridge_now_ms() < end);
	bridge->ends = true;
	links_leave(bridge);
	/* The others close when they have all of it. */
	do {
		progress(bridge, true);
		sched_yield();
	} while (links_up(bridge) && bridge_now_ms() < end);
}

/* Whether a node of this host is there, was lately, or may still come. */
static bool is_used(struct bridge *bridge)
{
	const int64_t now = bridge_now_ms();

	for (uint32_t n = 0; n < bridge->host->nodes; n++) {
		if (!bridge->local[n].gen)
			continue;
		bridge->used = now;
		bridge->begun = true;
	}
	return now - bridge->used < (bridge->begun ? UNUSED_MS : COMING_MS);
}

/*
 * Let nodes run that share this processor. Where other programs compute, that costs
 * a time slice, so it is left out for a while: until @keep, in µs.
 */
static void give_way(uint64_t *keep)
{
	const uint64_t before = bridge_now_us();
	uint64_t after;

	if (before < *keep)
		return;
	sched_yield();
	after = bridge_now_us();
	if (after - before > SLICE_US)
		*keep = after + CROWDED_US;
}

static void run(struct bridge *bridge, int signals, unsigned int spin)
{
	int64_t ticked = 0;
	uint64_t worked = 0;
	uint64_t keep = 0;

	for (;;) {
		const int64_t now = bridge_now_ms();
		const bool ticks = now - ticked >= TICK_MS;
		bool work;

		if (ticks && (has_signal(signals) ||
			      (bridge->while_used && !is_used(bridge))))
			return;
		if (ticks)
			ticked = now;
		if (ticks)
			status_answer(bridge);
		links_tend(bridge, ticks);
		bridge->busy = false;
		work = progress(bridge, ticks);
		/* Signs of life alone are no reason to look for more. */
		if (bridge->busy || (work && bridge->timed))
			worked = bridge_now_us();
		if (work) {
			if (!bridge->timed)
				give_way(&keep);
			continue;
		}
		if (bridge->timed && spin > TIMED_SPIN_US)
			spin = TIMED_SPIN_US;
		if (bridge_now_us() - worked < spin)
			sched_yield();
		else if (bridge->timed)
			nap(bridge);
		else
			sleep_until_woken(bridge);
	}
}

/* ---- Beginning ---- */

/* The name may go: the file is open as long as the bridge is. */
static void keep_file(struct bridge *bridge)
{
	int fd = open(bridge->path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		err(STATUS_FAILED, "%s", bridge->path);
	snprintf(bridge->path_kept, sizeof(bridge->path_kept),
		 "/proc/self/fd/%d", fd);
}

static void open_fabric(struct bridge *bridge)
{
	int error = tofu_fabric_observe(bridge->path_kept, &bridge->watch);

	if (error == -EINVAL)
		errx(STATUS_FAILED, "%s is no fabric of this version",
		     bridge->path);
	if (error) {
		errno = -error;
		err(STATUS_FAILED, "%s", bridge->path);
	}
	if (tofu_fabric_ppn(bridge->watch) != 1)
		errx(STATUS_FAILED,
		     "%s: nodes have up to %u processes; across hosts a process "
		     "is a node: make it without --ppn",
		     bridge->path, tofu_fabric_ppn(bridge->watch));
	if (tofu_fabric_endpoints(bridge->watch) != bridge->hosts.nodes)
		errx(STATUS_FAILED,
		     "--hosts has %u nodes, and the machine of %s has %u",
		     bridge->hosts.nodes, bridge->path,
		     tofu_fabric_endpoints(bridge->watch));
}

static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void create(struct bridge *bridge, const struct command *command)
{
	bridge->local = calloc(bridge->host->nodes, sizeof(*bridge->local));
	if (!bridge->local || links_create(bridge) || proxies_create(bridge))
		errx(STATUS_FAILED, "out of memory");
	bridge->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (bridge->epoll < 0)
		err(STATUS_FAILED, "epoll");
	if (pool_create(&bridge->rx, bridge,
			(uint64_t)command->memory << 20) ||
	    pool_create(&bridge->tx, bridge,
			(uint64_t)SEND_BUFFERS * BRIDGE_MESSAGE))
		err(STATUS_FAILED, "memory for messages");
}

static void say_ready(int fd)
{
	if (write(fd, "", 1) != 1)
		warn("--ready %d", fd);
	close(fd);
}

/*
 * Not a child of the program that has started it, which may wait for all of its
 * children; nor does it keep open what others wait to see closed.
 */
static void go_to_background(void)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const pid_t pid = fork();

	if (pid < 0)
		err(STATUS_FAILED, "cannot start a process");
	if (pid)
		_exit(EXIT_SUCCESS);
	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
}

/* The provider is chosen here, not by what programs of MPI are told. */
static void clean_environment(void)
{
	unsetenv("FI_PROVIDER");
	unsetenv("FI_PROVIDER_PATH");
}

int main(int argc, char **argv)
{
	struct command command = { .provider = "tcp",
				   .port = TOFU_HOST_PORT,
				   .timeout = 15,
				   .memory = MEMORY_MIB,
				   .spin = 200,
				   .ready = -1 };
	static struct bridge bridge; /* large, and its parts live as long as it */
	int signals;

	tofu_args_parse(&args, argc, argv, &command);
	if (command.while_used)
		go_to_background();
	if (!command.fabric || !command.hosts)
		errx(EXIT_USAGE, "--fabric and --hosts; try 'tofu-bridge --help'");
	clean_environment();
	/* Naps are to be as short as they are. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	bridge.path = command.fabric;
	bridge.quiet = command.quiet;
	bridge.while_used = command.while_used;
	bridge.used = bridge_now_ms();
	bridge.timeout = (int64_t)command.timeout * 1000;
	tofu_hosts_read("--hosts", command.hosts, command.port, &bridge.hosts);
	bridge.self = tofu_hosts_self(&bridge.hosts, command.self);
	bridge.host = &bridge.hosts.host[bridge.self];
	token_read(&bridge, command.token);
	keep_file(&bridge);
	open_fabric(&bridge);
	bridge.table = tofu_hosts_hash(&bridge.hosts,
				  tofu_fabric_shape(bridge.watch));
	raise_files();
	create(&bridge, &command);
	signals = watch_signals(&bridge);
	if (net_open(&bridge, command.provider))
		return STATUS_FAILED;
	if (status_listen(&bridge)) {
		warnx("%s has a bridge already, or cannot be asked for one",
		      bridge.path);
		return STATUS_FAILED;
	}
	proxies_expect(&bridge);
	if (command.ready >= 0)
		say_ready(command.ready);
	run(&bridge, signals, command.spin);
	drain(&bridge);
	for (uint32_t h = 0; h < bridge.hosts.count; h++)
		if (h != bridge.self)
			link_drop(&bridge.link[h]);
	net_close(&bridge);
	return EXIT_SUCCESS;
}
