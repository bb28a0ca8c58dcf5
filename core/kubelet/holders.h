/*
 * holders.h - which users hold the names by which ports, addresses and GPUs are reserved
 * (kubelet/ports.h): any user of this machine can, without running a job.
 */
#ifndef KUBELET_HOLDERS_H
#define KUBELET_HOLDERS_H

enum { HOLDERS_TEXT_SIZE = 96 };

/* The common beginning of the names, in the abstract namespace of Unix sockets. */
#define HOLDERS_PREFIX "kftrainer/"

/*
 * "; user 65534 holds 2 of them", of the user other than this one that holds most names
 * of this kind ("gpu", "port", "address"); "": none does, or the kernel does not say
 * (CONFIG_UNIX_DIAG). Returns text.
 */
const char *holders_text(const char *kind, char text[HOLDERS_TEXT_SIZE]);

#endif
