/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sim/preset.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/packet.h"

#define NS_MAX 1000000
#define MBS_MAX 1000000
/* Headers and payload of a packet; links of less are not meant. */
#define BYTES_MAX 4096

#define VALUE(member, least, most) \
	{ #member, offsetof(struct tofu_preset, member), least, most }

/*
 * What is no time, rate or size has options of its own. Where a packet's way
 * began and ended at one time, nodes could not be simulated apart: some times
 * are 1 at least.
 */
static const struct {
	const char *name;
	size_t at;
	uint32_t min;
	uint32_t max;
} values[] = {
	VALUE(link_mbs, 1, MBS_MAX),
	VALUE(mtu, 256, TOFU_PKT_MTU_MAX),
	VALUE(overhead, 0, BYTES_MAX),
	VALUE(control, 0, BYTES_MAX),
	VALUE(credits, 1, 1024),
	VALUE(buffers, 1, TOFU_BUFFERS_MAX),
	VALUE(hop_ns, 1, NS_MAX),
	VALUE(work_percent, 1, 10000),
	VALUE(store_ns, 0, NS_MAX),
	VALUE(memory_mbs, 1, MBS_MAX * 10),
	VALUE(doorbell_ns, 1, NS_MAX),
	VALUE(fetch_ns, 0, NS_MAX),
	VALUE(read_ns, 0, NS_MAX),
	VALUE(send_ns, 1, NS_MAX),
	VALUE(receive_ns, 1, NS_MAX),
	VALUE(write_ns, 0, NS_MAX),
	VALUE(inject_ns, 0, NS_MAX),
	VALUE(reply_ns, 0, NS_MAX),
	VALUE(atomic_ns, 0, NS_MAX),
	VALUE(gate_ns, 1, NS_MAX),
	VALUE(command_ns, 0, NS_MAX),
	VALUE(tni_mbs, 1, MBS_MAX),
	VALUE(tni_both_mbs, 1, MBS_MAX),
	VALUE(host_mbs, 1, MBS_MAX),
	VALUE(host_header, 0, BYTES_MAX),
};

#define VALUES (sizeof(values) / sizeof(values[0]))

/* Return: false, for the caller to return */
__attribute__((format(printf, 2, 3))) static bool say(char **why,
						      const char *format, ...)
{
	va_list words;

	va_start(words, format);
	if (vasprintf(why, format, words) < 0)
		*why = NULL;
	va_end(words);
	return false;
}

static size_t find(const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < VALUES; i++)
		if (strlen(values[i].name) == length &&
		    !strncmp(values[i].name, name, length))
			break;
	return i;
}

static bool unknown(char **why, const char *assignment)
{
	char *names = NULL;
	size_t size;
	FILE *list = open_memstream(&names, &size);

	for (size_t i = 0; list && i < VALUES; i++)
		fprintf(list, " %s", values[i].name);
	if (list)
		fclose(list);
	say(why, "'%s' is not a value of a machine, such as hop_ns=200; there are:%s",
	    assignment, names ? names : "");
	free(names);
	return false;
}

/* Return: whether @text is a number, or one of per cent of @now */
static bool number_of(const char *text, uint32_t now, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9')
		return false;
	if (errno || *number > UINT32_MAX)
		*number = UINT32_MAX;
	if (!strcmp(end, "%"))
		*number = (*number * now + 50) / 100;
	else if (*end)
		return false;
	return true;
}

bool sim_preset_set(struct tofu_preset *machine, const char *assignment,
		    char **why)
{
	size_t length = strcspn(assignment, "=");
	size_t i = find(assignment, length);
	uint64_t number;
	uint32_t value;
	char *at;

	if (assignment[length] != '=' || i == VALUES)
		return unknown(why, assignment);
	at = (char *)machine + values[i].at;
	memcpy(&value, at, sizeof(value));
	if (!number_of(assignment + length + 1, value, &number))
		return say(why, "'%s': not a number, nor per cent of %u",
			   assignment, value);
	if (number < values[i].min || number > values[i].max)
		return say(why, "'%s': %ju is out of range: %u to %u",
			   assignment, (uintmax_t)number, values[i].min,
			   values[i].max);
	value = (uint32_t)number;
	memcpy(at, &value, sizeof(value));
	return true;
}
