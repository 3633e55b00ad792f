/* SPDX-License-Identifier: MIT */
/*
 * Another process of this host, known by its number and its start time, its
 * open files and its locks. All of it goes through /proc, which must show the
 * pid namespace that the nodes share.
 */
#ifndef FABRIC_PROCESS_H
#define FABRIC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * tofu_process_start - start time of a process, ticks since boot
 *
 * Return: 0; -ESRCH where there is no such process; or another negative
 * errno, which says nothing about the process.
 */
int tofu_process_start(pid_t pid, uint64_t *start);

/**
 * tofu_process_open - a pidfd of the living process @pid started at @start
 *
 * Return: the descriptor; -ESRCH where that process is gone; or another
 * negative errno, which says nothing about the process.
 */
int tofu_process_open(pid_t pid, uint64_t start);

/* tofu_process_alive - whether the process of a pidfd has not ended; true where
 * that cannot be seen
 */
bool tofu_process_alive(int pidfd);

/**
 * tofu_process_holds - check who a process is by a file that it has open
 * @pid:  process
 * @fd:   in that process
 * @file: the file, as opened by this process
 * @at:   byte of the file
 *
 * The process belongs to this one's effective user, its descriptor is of the
 * file, and a write lock of that open file description covers the byte. The
 * kernel says all of that, so it holds for data from any source.
 *
 * Return: 0; -ESRCH where the process, file or lock is missing; -EPERM where
 * the process belongs to another user; or another negative errno, which says
 * nothing about the process.
 */
int tofu_process_holds(pid_t pid, int fd, int file, uint64_t at);

/**
 * tofu_process_file - open a file that another process has open
 * @pidfd: of the process
 * @pid:   its number
 * @fd:    in that process
 * @type:  S_IFREG or S_IFIFO: nothing else is opened
 * @flags: of open(2)
 *
 * Return: a descriptor or a negative errno; -ESRCH where the process has ended,
 * so that @pid may be another's.
 */
int tofu_process_file(int pidfd, pid_t pid, int fd, mode_t type, int flags);

/**
 * tofu_process_memory - open the memory of a process as a file, to read it
 *
 * Return: as tofu_process_file(). An offset in it is an address.
 */
int tofu_process_memory(int pidfd, pid_t pid);

#endif /* FABRIC_PROCESS_H */
