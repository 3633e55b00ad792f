/* SPDX-License-Identifier: MIT */
/*
 * What belongs to this library and is found beside it: programs and libraries of
 * the same build or installation.
 */
#ifndef PORT_BESIDE_H
#define PORT_BESIDE_H

#include <limits.h>
#include <stdbool.h>

/**
 * tofu_beside - path of a file, from the folder of this library
 * @what: such as "../bin/tofu-bridge"
 *
 * The library can also be a part of a program, which is then in bin.
 *
 * Return: whether it is there.
 */
bool tofu_beside(const char *what, char path[PATH_MAX]);

#endif /* PORT_BESIDE_H */
