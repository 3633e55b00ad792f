/* SPDX-License-Identifier: MIT */
/*
 * Machines: the times of real controllers, for virtual time. One table of
 * presets (machine.c) gives each number with its source; nothing else in the
 * code depends on the machine.
 */
#ifndef NET_MACHINE_H
#define NET_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct tofu_preset - the times of a machine
 * @name:        as people type it
 * @tnis:        engines that the machine has
 * @link_mbs:    rate of a link, each way, MB/s, headers included
 * @mtu:         most payload bytes in a packet
 * @overhead:    bytes of a packet beside its payload
 * @credits:     packets of an engine that may wait for the first link
 * @hop_ns:      a packet's head, from the output of one router to that of the
 *               next, on free links
 * @doorbell_ns: from a processor's store into the CQ page to the engine
 * @fetch_ns:    reading a descriptor from memory; a direct one costs nothing
 * @read_ns:     from requesting payload to its first byte
 * @send_ns:     packet through the engine, to the output of the first router
 * @receive_ns:  last byte of a packet, from the last link to the engine's
 *               access to memory
 * @write_ns:    from that access until a processor sees the data
 * @reply_ns:    from a request's effect to its response in the engine
 * @atomic_ns:   an ARMW's access to memory
 * @gate_ns:     a signal through a barrier gate; not 0, or gates in a loop
 *               would signal without end at one time
 * @command_ns:  least time between the first packets of two commands of one
 *               engine
 * @tni_mbs:     payload of an engine, sending or receiving
 * @tni_both_mbs: payload of an engine, sending plus receiving
 * @host_mbs:    payload of all engines, each way
 *
 * MB/s are 10^6 bytes of payload a second, except in @link_mbs.
 */
struct tofu_preset {
	const char *name;
	uint32_t tnis;
	uint32_t link_mbs;
	uint32_t mtu;
	uint32_t overhead;
	uint32_t credits;
	uint32_t hop_ns;
	uint32_t doorbell_ns;
	uint32_t fetch_ns;
	uint32_t read_ns;
	uint32_t send_ns;
	uint32_t receive_ns;
	uint32_t write_ns;
	uint32_t reply_ns;
	uint32_t atomic_ns;
	uint32_t gate_ns;
	uint32_t command_ns;
	uint32_t tni_mbs;
	uint32_t tni_both_mbs;
	uint32_t host_mbs;
};

/* tofu_preset_at - preset number @index, or NULL past the last one */
const struct tofu_preset *tofu_preset_at(size_t index);

/* tofu_preset_find - the preset with that name, or NULL */
const struct tofu_preset *tofu_preset_find(const char *name);

/*
 * The lookahead of conservative synchronisation. A store at time t puts no
 * packet into the network before t + tofu_preset_store_ns(). A packet that
 * enters the network at t is not received before t + tofu_preset_flight_ns().
 * The answer to a packet received at t does not enter the network before
 * t + tofu_preset_answer_ns().
 */
static inline uint64_t tofu_preset_store_ns(const struct tofu_preset *m)
{
	return (uint64_t)m->doorbell_ns + m->send_ns;
}

static inline uint64_t tofu_preset_flight_ns(const struct tofu_preset *m)
{
	return (uint64_t)m->hop_ns + m->receive_ns;
}

static inline uint64_t tofu_preset_answer_ns(const struct tofu_preset *m)
{
	return m->send_ns;
}

/* tofu_preset_ps - picoseconds that @bytes take at @mbs MB/s */
static inline uint64_t tofu_preset_ps(uint64_t bytes, uint32_t mbs)
{
	return bytes * 1000000 / mbs;
}

#endif /* NET_MACHINE_H */
