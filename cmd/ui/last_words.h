/*
 * last_words.h - what the kubelet keeps of a container that failed.
 *
 * Events and `why` show it when the log is gone: that goes with its pod, which a Job deletes
 * after the last retry. Source: /dev/termination-log, the API's terminationMessagePath.
 */
#ifndef CMD_LAST_WORDS_H
#define CMD_LAST_WORDS_H

enum { LAST_WORDS_MAX = 4096 }; /* the kubelet keeps the end of more */

/* Nothing happens outside of a container. */
void last_words(const char *text);

#endif
