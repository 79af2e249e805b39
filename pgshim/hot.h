/*
 * hot.h - what every statement of every backend passes lies together in memory.
 *
 * Most of what the library costs a short statement is fetching it: the server's own code and the
 * client's have filled the caches since the last one. So the functions and variables of that path
 * are in two sections of their own, here and in Rust (the attribute link_section).
 */
#ifndef CKPTFLUSH_HOT_H
#define CKPTFLUSH_HOT_H

#define CKF_HOT			__attribute__((section("ckf_hot")))
#define CKF_HOT_DATA	__attribute__((section("ckf_data")))

/*
 * And a hook that has nothing to do is best not called at all: so hooks are taken when a setting
 * asks for them and given back when it does not. What another library has taken after us stays as
 * it is: it calls ours, which passes the call on, and is then still taken. So none is ever called
 * twice, whoever comes when.
 */
typedef bool ckf_taken;

#define CKF_LINK(wanted, hook, ours, previous, taken) \
	do { \
		if ((wanted) && !(taken)) \
		{ \
			(previous) = (hook); \
			(hook) = (ours); \
			(taken) = true; \
		} \
		else if (!(wanted) && (taken) && (hook) == (ours)) \
		{ \
			(hook) = (previous); \
			(taken) = false; \
		} \
	} while (0)

#endif							/* CKPTFLUSH_HOT_H */
