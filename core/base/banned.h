/*
 * banned.h - C library calls that this program does not use.
 *
 * They write past their buffer, share hidden state between threads, depend on
 * the locale or cannot say that they failed. Their headers come first, because
 * a poisoned word may not be met again. error.h includes this, so that every
 * file of ours has it.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets
#pragma GCC poison strtok asctime ctime gmtime localtime mktime tmpnam mktemp
#pragma GCC poison atoi atol atoll atof

#endif
