/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "utofu/command.h"
#include "utofu/instance.h"
#include "utofu/vcq_id.h"

#define ARMW_OPS                             \
	(UTOFU_ONESIDED_CAP_ARMW_OP_CSWAP |  \
	 UTOFU_ONESIDED_CAP_ARMW_OP_SWAP |   \
	 UTOFU_ONESIDED_CAP_ARMW_OP_ADD |    \
	 UTOFU_ONESIDED_CAP_ARMW_OP_XOR |    \
	 UTOFU_ONESIDED_CAP_ARMW_OP_AND |    \
	 UTOFU_ONESIDED_CAP_ARMW_OP_OR)

#define ONESIDED_CAPS(armw_flag, ops)                             \
	{                                                         \
		.flags = UTOFU_ONESIDED_CAP_FLAG_SESSION_MODE |   \
			 (armw_flag),                             \
		.armw_ops = (ops),                                \
		.num_cmp_ids = TOFU_LANE_ANONYMOUS,               \
		.num_reserved_stags = TOFU_STAGS_RESERVED,        \
		.cache_line_size = 256,                           \
		.stag_address_alignment = TOFU_STAG_ALIGN,        \
		.max_toq_desc_size = sizeof(struct tofu_toq_desc) + \
				     sizeof(struct tofu_toq_data), \
		.max_putget_size = TOFU_LENGTH_MAX,               \
		.max_piggyback_size = TOFU_PIGGYBACK_MAX,         \
		.max_edata_size = 1,                              \
		.max_mtu = TOFU_MTU_MAX,                          \
		.max_gap = TOFU_MASK(TOFU_TOQ_GAP_BITS),          \
	}

/*
 * Of controllers without and with remote atomics; the same for all TNIs. The
 * interface returns it without const.
 */
static const struct utofu_onesided_caps onesided_caps[] = {
	ONESIDED_CAPS(0, 0),
	ONESIDED_CAPS(UTOFU_ONESIDED_CAP_FLAG_ARMW, ARMW_OPS),
};

static const struct utofu_barrier_caps barrier_caps = {
	.reduce_ops = UTOFU_BARRIER_CAP_REDUCE_OP_BARRIER |
		      UTOFU_BARRIER_CAP_REDUCE_OP_BAND |
		      UTOFU_BARRIER_CAP_REDUCE_OP_BOR |
		      UTOFU_BARRIER_CAP_REDUCE_OP_BXOR |
		      UTOFU_BARRIER_CAP_REDUCE_OP_MAX |
		      UTOFU_BARRIER_CAP_REDUCE_OP_MAXLOC |
		      UTOFU_BARRIER_CAP_REDUCE_OP_SUM |
		      UTOFU_BARRIER_CAP_REDUCE_OP_BFPSUM,
	.max_uint64_reduction = TOFU_REDUCE_WORDS,
	.max_double_reduction = TOFU_REDUCE_DOUBLES,
};

/* The first @tnis TNIs, in an array that the caller frees. */
static int tnis_give(unsigned int tnis, utofu_tni_id_t **tni_ids,
		     size_t *num_tnis)
{
	/* One more, so that there is an array even for 0 TNIs. */
	utofu_tni_id_t *ids = malloc((tnis + 1) * sizeof(*ids));

	if (!ids)
		return tofu_error(UTOFU_ERR_OUT_OF_MEMORY);
	for (unsigned int i = 0; i < tnis; i++)
		ids[i] = (utofu_tni_id_t)i;
	*tni_ids = ids;
	*num_tnis = tnis;
	return UTOFU_SUCCESS;
}

int utofu_get_onesided_tnis(utofu_tni_id_t **tni_ids, size_t *num_tnis)
{
	int code;

	if (!tni_ids || !num_tnis)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	code = tofu_instance_open();
	if (code)
		return code;
	return tnis_give(tofu_instance()->port->info.tnis, tni_ids, num_tnis);
}

int utofu_get_barrier_tnis(utofu_tni_id_t **tni_ids, size_t *num_tnis)
{
	int code;

	if (!tni_ids || !num_tnis)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	code = tofu_instance_open();
	if (code)
		return code;
	return tnis_give(tofu_barrier_tnis(), tni_ids, num_tnis);
}

int utofu_query_onesided_caps(utofu_tni_id_t tni_id,
			      struct utofu_onesided_caps **tni_caps)
{
	int code;

	if (!tni_caps)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	code = tofu_instance_open();
	if (code)
		return code;
	if (tni_id >= tofu_instance()->port->info.tnis)
		return tofu_error(UTOFU_ERR_INVALID_TNI_ID);
	*tni_caps = (struct utofu_onesided_caps *)&onesided_caps[tofu_armw()];
	return UTOFU_SUCCESS;
}

int utofu_query_barrier_caps(utofu_tni_id_t tni_id,
			     struct utofu_barrier_caps **tni_caps)
{
	int code;

	if (!tni_caps)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	code = tofu_instance_open();
	if (code)
		return code;
	if (tni_id >= tofu_barrier_tnis())
		return tofu_error(UTOFU_ERR_INVALID_TNI_ID);
	*tni_caps = (struct utofu_barrier_caps *)&barrier_caps;
	return UTOFU_SUCCESS;
}

/* The generation that has these descriptors and atomics. */
void utofu_query_tofu_version(int *major_ver, int *minor_ver)
{
	if (major_ver)
		*major_ver = 2;
	if (minor_ver)
		*minor_ver = 0;
}

void utofu_query_utofu_version(int *major_ver, int *minor_ver)
{
	if (major_ver)
		*major_ver = UTOFU_VERSION_MAJOR;
	if (minor_ver)
		*minor_ver = UTOFU_VERSION_MINOR;
}

int utofu_query_my_coords(uint8_t coords[])
{
	struct tofu_coords my;
	int code;

	if (!coords)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	code = tofu_instance_open();
	if (code)
		return code;
	my = tofu_coords_unpack(tofu_instance()->port->info.coords);
	for (int i = 0; i < TOFU_AXES; i++)
		coords[i] = my.c[i];
	return UTOFU_SUCCESS;
}
