/* SPDX-License-Identifier: MIT */
/* Libraries that are loaded only when they are needed; a static program cannot. */
#ifndef PORT_LOAD_H
#define PORT_LOAD_H

/**
 * tofu_load - load a library, and find a symbol in it
 * @name: of the library: beside this one, or in the folder lib beside that of a tool,
 *        or wherever the system finds libraries
 * @why:  gets a text if it fails
 *
 * Return: the symbol's address, or NULL.
 */
const void *tofu_load(const char *name, const char *symbol, const char **why);

#endif /* PORT_LOAD_H */
