// SPDX-License-Identifier: MIT
#include <tofu/model.h>

#include <stdbool.h>

/* false for NaN, too */
static bool sane(double value)
{
	return value >= 0 && value <= 1e100;
}

static bool pairs_sane(const double bytes[], const double us[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!sane(bytes[i]) || !sane(us[i]))
			return false;
	return true;
}

static double mean(const double value[], size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += value[i];
	return sum / (double)count;
}

static bool all_equal(const double value[], size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (value[i] != value[0])
			return false;
	return true;
}

int tofu_model_fit(const double bytes[], const double us[], size_t count,
		   double factor, struct tofu_model_fit *fit)
{
	double bytes_mean, us_mean, square = 0, product = 0, slope, t0_us;

	if (!bytes || !us || !fit)
		return UTOFU_ERR_INVALID_POINTER;
	if (count < 2)
		return UTOFU_ERR_INVALID_NUMBER;
	if (!sane(factor) || !factor || !pairs_sane(bytes, us, count))
		return UTOFU_ERR_INVALID_ARG;
	if (all_equal(bytes, count))
		return UTOFU_ERR_INVALID_SIZE;
	/* From the means: sums of squares of sizes would cancel. */
	bytes_mean = mean(bytes, count);
	us_mean = mean(us, count);
	for (size_t i = 0; i < count; i++) {
		square += (bytes[i] - bytes_mean) * (bytes[i] - bytes_mean);
		product += (bytes[i] - bytes_mean) * (us[i] - us_mean);
	}
	slope = product / square;
	if (!(slope > 0))
		return UTOFU_ERR_INVALID_DATA;
	t0_us = us_mean - slope * bytes_mean;
	*fit = (struct tofu_model_fit){
		.b_mbs = factor / slope,
		.half_bytes = t0_us / slope,
		.t0_us = t0_us,
	};
	return UTOFU_SUCCESS;
}
