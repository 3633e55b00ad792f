// SPDX-License-Identifier: MIT
/*
 * The machines. K's numbers are published. 'Derived' ones are terms of the
 * machine's times in virtual time, net/machine.c, which has their sources.
 */
#include <string.h>

#include "model/internal.h"
#include "net/machine.h"

/*
 * struct memory - what virtual time does not know of a machine
 * @memory_mbs, @software_us: of struct tofu_model_machine
 */
static const struct memory {
	const char *name;
	double memory_mbs;
	double software_us;
} others[] = {
	/*
	 * K's share, 46 of 64 GB/s, of a published peak of 85 GB/s: assumed. The
	 * controller is K's, and a store to it takes as long.
	 */
	{ "fx10", 61000, 1.0 },
	/*
	 * The same share of a peak of 480 GB/s: assumed. The controller is on the
	 * processor's chip: a store to it does not stall, so starting an engine
	 * takes what the scheduler of puts assumes.
	 */
	{ "fx100", 345000, 0.6 },
	/* STREAM, of a published peak of 1,024 GB/s. Starts as above. */
	{ "fugaku", 830000, 0.6 },
};

static const struct tofu_model_machine k = {
	.link_mbs = 4500, /* published */
	.node_mbs = 15000, /* published */
	.memory_mbs = 46000, /* published */
	.software_us = 1.0, /* published */
	.hardware_us = 0.6, /* published */
	.hop_us = 0.1, /* derived */
	.gate_us = 0.21, /* derived */
	.start_us = 8.370, /* published */
	.control_us = 5.365, /* published: messages of 40, 64 and 80 bytes */
	.segment = 16384, /* published */
	.engines = 4, /* published */
};

/* Payload of a link that an engine fills */
static double link_mbs(const struct tofu_preset *p)
{
	return model_min((double)p->link_mbs * p->mtu / (p->mtu + p->overhead),
			 p->tni_mbs);
}

/* A put of few bytes whose descriptor the processor has stored */
static double hardware_us(const struct tofu_preset *p)
{
	return (p->doorbell_ns + p->send_ns + p->hop_ns + p->receive_ns +
		p->write_ns) / 1000.0;
}

static double gate_us(const struct tofu_preset *p)
{
	return (p->send_ns + p->hop_ns + p->receive_ns + p->gate_ns) / 1000.0;
}

/* Three control messages, each as much above the latency as K's */
static double control_us(double latency_us)
{
	return k.control_us + 3 * (latency_us - k.software_us - k.hardware_us);
}

static void derive(const struct tofu_preset *p, const struct memory *memory,
		   struct tofu_model_machine *machine)
{
	*machine = (struct tofu_model_machine){
		.link_mbs = link_mbs(p),
		.node_mbs = p->host_mbs,
		.memory_mbs = memory->memory_mbs,
		.software_us = memory->software_us,
		.hardware_us = hardware_us(p),
		.hop_us = p->hop_ns / 1000.0,
		.gate_us = gate_us(p),
		/* Assumed: K's, as much less as its other software */
		.start_us = k.start_us * memory->software_us / k.software_us,
		.control_us = control_us(memory->software_us + hardware_us(p)),
		.segment = k.segment,
		.engines = p->tnis,
	};
}

/* The same network as K's, whose published rates differ from virtual time's */
static void derive_fx10(struct tofu_model_machine *machine,
			const struct memory *memory)
{
	*machine = k;
	machine->memory_mbs = memory->memory_mbs;
	machine->software_us = memory->software_us;
}

int tofu_model_machine(const char *name, struct tofu_model_machine *machine)
{
	if (!name || !machine)
		return UTOFU_ERR_INVALID_POINTER;
	if (!strcmp(name, "k")) {
		*machine = k;
		return UTOFU_SUCCESS;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const struct tofu_preset *preset = tofu_preset_find(name);

		if (!preset || strcmp(name, others[i].name))
			continue;
		if (!strcmp(name, "fx10"))
			derive_fx10(machine, &others[i]);
		else
			derive(preset, &others[i], machine);
		return UTOFU_SUCCESS;
	}
	return UTOFU_ERR_NOT_FOUND;
}
