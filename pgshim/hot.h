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

#endif							/* CKPTFLUSH_HOT_H */
