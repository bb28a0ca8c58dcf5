# vendor/aarch64.sh: the recipes of vendor/recipes.sh for 64-bit Arm, by Debian's cross compiler.
# Sourced by vendor/build.sh after them: defines again what differs.
# shellcheck shell=bash disable=SC2034,SC2154

# Neither Nettle nor fastmem, which are for x86-64: mbedTLS itself uses the CPU's instructions.
cross_lanes=("mbedtls libssh2 nghttp2 curl" "libzstd cjson libyaml expat mimalloc brotli lz4 cmocka")

# The recipes ask these what they build for, and with what.
uname() { echo aarch64; }
gcc() { aarch64-linux-gnu-gcc "$@"; }

# mbedTLS asks the CPU for AES by itself. These change its code, not its structures.
# cmocka.h has a uintptr_t of its own unless that is defined.
use_aarch64() {
	use_musl
	AR=aarch64-linux-gnu-gcc-ar
	CFLAGS+=" -DMBEDTLS_SHA256_USE_ARMV8_A_CRYPTO_IF_PRESENT -DMBEDTLS_SHA512_USE_A64_CRYPTO_IF_PRESENT"
	CFLAGS+=" -D_UINTPTR_T"
}

build_musl() {
	mkdir -p "$build/musl" "$root/bin" "$root/kernel"
	(cd "$build/musl" && "$src/musl/configure" --prefix="$root/libc" \
		--syslibdir="$root/libc/lib" --disable-shared --enable-wrapper=gcc \
		CROSS_COMPILE=aarch64-linux-gnu- CC=aarch64-linux-gnu-gcc CFLAGS="-O2 $map" &&
		make -s -j "$jobs" && make -s install)
	ln -s /usr/aarch64-linux-gnu/include/{linux,asm-generic,mtd,asm} "$root/kernel/"
	cat >"$root/bin/musl-gcc" <<-END
		#!/bin/sh
		exec aarch64-linux-gnu-gcc "\$@" -specs "$root/libc/lib/musl-gcc.specs" -idirafter "$root/kernel"
	END
	chmod 755 "$root/bin/musl-gcc"
	rm -rf "$root/libc/bin"
}
