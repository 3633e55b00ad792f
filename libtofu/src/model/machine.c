// SPDX-License-Identifier: MIT
/*
 * The machines. K's numbers are published. 'Derived' ones are terms of the
 * machine's times in virtual time, net/machine.c, which has their sources, and
 * the bandwidth of memory of all.
 */
#include <string.h>

#include "model/internal.h"
#include "net/machine.h"

/*
 * struct software - what virtual time does not know of a machine
 * @software_us: of struct tofu_model_machine
 */
static const struct software {
	const char *name;
	double software_us;
} others[] = {
	/* The controller is K's, and a store to it takes as long. */
	{ "fx10", 1.0 },
	/*
	 * The controller is on the processor's chip: a store to it does not stall,
	 * so starting an engine takes what the scheduler of puts assumes.
	 */
	{ "fx100", 0.6 },
	{ "fugaku", 0.6 },
};

static const struct tofu_model_machine k = {
	.link_mbs = 4500, /* published */
	.node_mbs = 15000, /* published */
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
	return model_min(tofu_preset_link_payload(p), p->tni_mbs);
}

/* A put of few bytes whose descriptor the processor has stored */
static double hardware_us(const struct tofu_preset *p)
{
	return (p->doorbell_ns + p->send_ns + p->hop_ns + p->receive_ns +
		p->write_ns) / 1000.0;
}

/*
 * Finding a segment's notice and putting it on, without the store: measured with
 * tofu-sim, by broadcasts of short segments
 */
#define FORWARD_NS 1400

static double forward_us(const struct tofu_preset *p)
{
	return (p->store_ns + FORWARD_NS * p->work_percent / 100.0) / 1000;
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

static void derive(const struct tofu_preset *p, double software_us,
		   struct tofu_model_machine *machine)
{
	*machine = (struct tofu_model_machine){
		.link_mbs = link_mbs(p),
		.node_mbs = p->host_mbs,
		.software_us = software_us,
		.hardware_us = hardware_us(p),
		.hop_us = p->hop_ns / 1000.0,
		.gate_us = gate_us(p),
		/* Assumed: K's, as much less as its other software */
		.start_us = k.start_us * software_us / k.software_us,
		.control_us = control_us(software_us + hardware_us(p)),
		.segment = k.segment,
		.engines = p->tnis,
	};
}

/* The same network as K's, whose published rates differ from virtual time's */
static void derive_fx10(double software_us, struct tofu_model_machine *machine)
{
	*machine = k;
	machine->software_us = software_us;
}

/* Return: whether there is such a machine. */
static bool derive_other(const struct tofu_preset *preset,
			 struct tofu_model_machine *machine)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(preset->name, others[i].name))
			continue;
		if (!strcmp(preset->name, "fx10"))
			derive_fx10(others[i].software_us, machine);
		else
			derive(preset, others[i].software_us, machine);
		return true;
	}
	return false;
}

int tofu_model_machine(const char *name, struct tofu_model_machine *machine)
{
	const struct tofu_preset *preset;

	if (!name || !machine)
		return UTOFU_ERR_INVALID_POINTER;
	preset = tofu_preset_find(name);
	if (!preset)
		return UTOFU_ERR_NOT_FOUND;
	if (!strcmp(name, "k"))
		*machine = k;
	else if (!derive_other(preset, machine))
		return UTOFU_ERR_NOT_FOUND;
	machine->memory_mbs = preset->memory_mbs;
	machine->forward_us = forward_us(preset);
	return UTOFU_SUCCESS;
}
