/* SPDX-License-Identifier: MIT */
/*
 * Machines: the times of real controllers, for virtual time. One table of
 * presets (machine.c) gives each number with its source; nothing else in the
 * code depends on the machine.
 */
#ifndef NET_MACHINE_H
#define NET_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOFU_BUFFERS_MAX 16

/**
 * struct tofu_preset - the times of a machine
 * @name:        as people type it
 * @tnis:        engines that the machine has
 * @link_mbs:    rate of a link, each way, MB/s, headers included
 * @mtu:         most payload bytes in a packet
 * @overhead:    bytes of a packet beside its payload
 * @control:     bytes of acknowledgements and credits that a link carries for
 *               each packet, as if both its directions had as much to send
 * @credits:     packets of an engine that may wait for the first link
 * @buffers:     packets that wait in a router, for each of its inputs, class
 *               and channel; TOFU_BUFFERS_MAX at most
 * @armw:        has remote atomics
 * @hop_ns:      a packet's head, from the output of one router to that of the
 *               next, on free links
 * @work_percent: how long the processor works for what takes 100 ns on a virtual
 *               machine in virtual time, that is 100 instructions
 * @store_ns:    how long a store that starts a command or a barrier holds up the
 *               processor
 * @memory_mbs:  bandwidth of a node's memory, for loads and stores of the
 *               processor and of the engines together; 0: no limit. Virtual
 *               machines have none
 * @doorbell_ns: from such a store to the engine
 * @fetch_ns:    reading a descriptor from memory; a direct one costs nothing
 * @read_ns:     from requesting payload to its first byte
 * @send_ns:     packet through the engine, to the output of the first router
 * @receive_ns:  from when the engine has taken a packet's last byte to its
 *               access to memory
 * @write_ns:    from that access until a processor sees the data
 * @inject_ns:   the same for data that goes into the processor's cache
 * @reply_ns:    from a request's effect to its response in the engine
 * @atomic_ns:   an ARMW's access to memory
 * @gate_ns:     a signal through a barrier gate; not 0, or gates in a loop
 *               would signal without end at one time
 * @command_ns:  least time between the first packets of two commands of one
 *               engine
 * @tni_mbs:     payload of an engine, sending or receiving
 * @tni_both_mbs: payload of an engine, sending plus receiving
 * @host_mbs:    payload of all engines, each way, with the other one idle
 * @host_header: bytes of a request for TOFU_HOST_LINE bytes of memory, or of the
 *               answer to their write: they go the other way of the host
 *               interface
 *
 * MB/s are 10^6 bytes of payload a second, except in @link_mbs.
 */
struct tofu_preset {
	const char *name;
	uint32_t tnis;
	uint32_t link_mbs;
	uint32_t mtu;
	uint32_t overhead;
	uint32_t control;
	uint32_t credits;
	uint32_t buffers;
	bool armw;
	uint32_t hop_ns;
	uint32_t work_percent;
	uint32_t store_ns;
	uint32_t memory_mbs;
	uint32_t doorbell_ns;
	uint32_t fetch_ns;
	uint32_t read_ns;
	uint32_t send_ns;
	uint32_t receive_ns;
	uint32_t write_ns;
	uint32_t inject_ns;
	uint32_t reply_ns;
	uint32_t atomic_ns;
	uint32_t gate_ns;
	uint32_t command_ns;
	uint32_t tni_mbs;
	uint32_t tni_both_mbs;
	uint32_t host_mbs;
	uint32_t host_header;
};

#define TOFU_HOST_LINE 128

/*
 * Loads and stores of memory for each byte. Published for a reduction, whose
 * rate is (BM - 2 B) / 4: B is what the engines send, and receive. A copy loads
 * and stores, and clearing stores.
 */
#define TOFU_MEMORY_REDUCE 4
#define TOFU_MEMORY_COPY 2
#define TOFU_MEMORY_CLEAR 1

/* tofu_preset_at - preset number @index, or NULL past the last one */
const struct tofu_preset *tofu_preset_at(size_t index);

/* tofu_preset_find - the preset with that name, or NULL */
const struct tofu_preset *tofu_preset_find(const char *name);

/*
 * The lookahead of conservative synchronisation. A store at time t puts no
 * packet into the network before t + tofu_preset_store_ns(), and what the
 * controller does at t none before t + tofu_preset_send_ns(). A packet that
 * enters the network at t is not received before t + tofu_preset_flight_ns().
 * Of a packet received at t nothing follows in the network before
 * t + tofu_preset_answer_ns().
 */
static inline uint64_t tofu_preset_send_ns(const struct tofu_preset *m)
{
	return m->send_ns;
}

static inline uint64_t tofu_preset_store_ns(const struct tofu_preset *m)
{
	return (uint64_t)m->doorbell_ns + m->send_ns;
}

static inline uint64_t tofu_preset_flight_ns(const struct tofu_preset *m)
{
	return (uint64_t)m->hop_ns + m->receive_ns;
}

static inline uint32_t tofu_preset_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * A request has its effect, then it is answered; or software sees it and stores.
 * A response makes room for the next command, which may be there.
 */
static inline uint64_t tofu_preset_answer_ns(const struct tofu_preset *m)
{
	const uint32_t write = tofu_preset_min(m->write_ns, m->inject_ns);
	const uint32_t reply = tofu_preset_min(m->reply_ns, m->doorbell_ns);
	const uint32_t get = tofu_preset_min(m->read_ns, reply);
	const uint32_t put = tofu_preset_min(write, m->atomic_ns) + reply;
	const uint32_t others = tofu_preset_min(m->gate_ns, write);

	return tofu_preset_send_ns(m) +
	       tofu_preset_min(tofu_preset_min(put, m->reply_ns + get), others);
}

/* tofu_preset_ps - picoseconds that @bytes take at @mbs MB/s */
static inline uint64_t tofu_preset_ps(uint64_t bytes, uint32_t mbs)
{
	return bytes * 1000000 / mbs;
}

/* tofu_preset_link_payload - MB/s of payload that a link carries each way */
static inline uint32_t tofu_preset_link_payload(const struct tofu_preset *m)
{
	return (uint32_t)((uint64_t)m->link_mbs * m->mtu /
			  (m->mtu + m->overhead + m->control));
}

/* tofu_preset_host_both - MB/s of payload of all engines each way, while they
 * send and receive as much
 */
static inline uint32_t tofu_preset_host_both(const struct tofu_preset *m)
{
	return (uint32_t)((uint64_t)m->host_mbs * TOFU_HOST_LINE /
			  (TOFU_HOST_LINE + m->host_header));
}

#endif /* NET_MACHINE_H */
