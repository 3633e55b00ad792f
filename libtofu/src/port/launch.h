/* SPDX-License-Identifier: MIT */
/* Numbers that the environment gives, and those of mpirun and srun. */
#ifndef PORT_LAUNCH_H
#define PORT_LAUNCH_H

/**
 * tofu_env_number - read a number from the environment
 *
 * Return: 1 where @name is set and @value with it, 0 where not; -EINVAL for what
 * is no number from @min to @max, and tofu_debug() has then said so.
 */
int tofu_env_number(const char *name, unsigned int min, unsigned int max,
		    unsigned int *value);

/**
 * tofu_launcher_find - read what mpirun or srun says
 * @max: processes of a job at most
 *
 * Return: as tofu_env_number(); 1 where there is a launcher.
 */
int tofu_launcher_find(unsigned int max, unsigned int *rank,
		       unsigned int *ranks);

#endif /* PORT_LAUNCH_H */
