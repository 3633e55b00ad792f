// SPDX-License-Identifier: MIT
/* What would make a second thread of a node, or another program of all. */

#include "sim/libc-node.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/types.h>
#include <threads.h>
#include <unistd.h>

/* For programs, whatever else is hidden from them */
#pragma GCC visibility push(default)

static int refused(void)
{
	errno = ENOSYS;
	return -1;
}

pid_t fork(void)
{
	return sim_refuse("fork") ? refused() : REAL(fork)();
}

/* A function that calls it cannot return in the child first. */
pid_t vfork(void)
{
	return sim_refuse("vfork") ? refused() : REAL(fork)();
}

int daemon(int keep_folder, int keep_files)
{
	return sim_refuse("daemon") ? refused() :
				      REAL(daemon)(keep_folder, keep_files);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
		   void *(*run)(void *arg), void *arg)
{
	if (sim_refuse("pthread_create"))
		return EAGAIN;
	return REAL(pthread_create)(thread, attributes, run, arg);
}

int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
	if (sim_refuse("thrd_create"))
		return thrd_error;
	return REAL(thrd_create)(thread, run, arg);
}

/* ---- exec ---- */

int execve(const char *path, char *const *argv, char *const *envp)
{
	return sim_refuse("execve") ? refused() :
				      REAL(execve)(path, argv, envp);
}

int execv(const char *path, char *const *argv)
{
	return sim_refuse("execv") ? refused() : REAL(execv)(path, argv);
}

int execvp(const char *file, char *const *argv)
{
	return sim_refuse("execvp") ? refused() : REAL(execvp)(file, argv);
}

int execvpe(const char *file, char *const *argv, char *const *envp)
{
	return sim_refuse("execvpe") ? refused() :
				       REAL(execvpe)(file, argv, envp);
}

int fexecve(int fd, char *const *argv, char *const *envp)
{
	return sim_refuse("fexecve") ? refused() :
				       REAL(fexecve)(fd, argv, envp);
}

/* How many arguments there are up to NULL */
static size_t count_args(const char *first, va_list args)
{
	size_t count = 0;

	for (const char *arg = first; arg; arg = va_arg(args, const char *))
		count++;
	return count;
}

/* All arguments, NULL, and of execle() the environment behind it */
static void take_args(char **to, const char *first, va_list args)
{
	for (char *arg = (char *)first; arg; arg = va_arg(args, char *))
		*to++ = arg;
	*to = NULL;
}

int execl(const char *path, const char *first, ...)
{
	va_list args;
	size_t count;

	if (sim_refuse("execl"))
		return refused();
	va_start(args, first);
	count = count_args(first, args);
	va_end(args);

	char *argv[count + 1];

	va_start(args, first);
	take_args(argv, first, args);
	va_end(args);
	return REAL(execv)(path, argv);
}

int execlp(const char *file, const char *first, ...)
{
	va_list args;
	size_t count;

	if (sim_refuse("execlp"))
		return refused();
	va_start(args, first);
	count = count_args(first, args);
	va_end(args);

	char *argv[count + 1];

	va_start(args, first);
	take_args(argv, first, args);
	va_end(args);
	return REAL(execvp)(file, argv);
}

int execle(const char *path, const char *first, ...)
{
	char *const *envp;
	va_list args;
	size_t count;

	if (sim_refuse("execle"))
		return refused();
	va_start(args, first);
	count = count_args(first, args);
	va_end(args);

	char *argv[count + 1];

	va_start(args, first);
	take_args(argv, first, args);
	envp = va_arg(args, char *const *);
	va_end(args);
	return REAL(execve)(path, argv, envp);
}

#pragma GCC visibility pop
