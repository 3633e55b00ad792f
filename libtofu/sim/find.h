/* SPDX-License-Identifier: MIT */
#ifndef SIM_FIND_H
#define SIM_FIND_H

/**
 * sim_find - the file of a program
 * @name: a path, or a name without a slash: one of the library's own tools
 *        beside this executable ("halo" or "tofu-halo"), else of PATH
 *
 * Return: its path, to be freed, or NULL.
 */
char *sim_find(const char *name);

/* sim_find_part - the path of a file that belongs to tofu-sim, or NULL */
char *sim_find_part(const char *name);

#endif /* SIM_FIND_H */
