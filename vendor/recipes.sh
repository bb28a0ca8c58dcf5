# vendor/recipes.sh: how each library is built. Sourced by vendor/build.sh, which
# says where: $src/NAME (unpacked, with Debian's patches; the working folder is
# $src), $build (scratch) and $root (the sysroot: include/, lib/, bin/; musl's own
# under libc/).
#
# Each recipe's output depends on the sources alone, not on where they lie: paths
# are mapped, archives hold sorted members without times.
# shellcheck shell=bash disable=SC2154

# What comes first, one after the other; then lanes, side by side: a lane's
# libraries need only what comes first and what is before them in the lane.
musl_first="musl zlib"
musl_lanes=("nettle mbedtls libssh2 nghttp2 curl" "libzstd cjson libyaml expat mimalloc fastmem brotli lz4 cmocka")
san_first="zlib"
san_lanes=("nettle mbedtls libssh2 nghttp2 curl" "libyaml cjson expat libzstd brotli lz4 cmocka")

map="-ffile-prefix-map=$src=. -ffile-prefix-map=$build=. -ffile-prefix-map=$root=."

use_musl() {
	CC=$root/bin/musl-gcc AR=gcc-ar
	EXE=-static
	CFLAGS="-O2 -ffunction-sections -fdata-sections -fstack-protector-strong -fPIE $map"
	[ "$(uname -m)" != x86_64 ] || CFLAGS+=" -fcf-protection"
}

# Coverage for the fuzzers is in the libraries too: it costs the tests little.
use_san() {
	CC=clang AR=ar
	EXE=-fsanitize=address,undefined
	CFLAGS="-g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link"
	CFLAGS+=" -fno-sanitize-recover=undefined $map"
}

# A plain list of C files (below $src) is one archive: no library's own build
# system needed.
archive() { # NAME "FLAGS" FILE...
	local name=$1 flags=$2 objects=$build/$1.o
	shift 2
	mkdir -p "$objects"
	printf '%s\n' "$@" | xargs -P "$jobs" -I{} sh -c \
		"$CC $CFLAGS $flags -c {} -o '$objects'/\$(echo {} | tr / _).o"
	(cd "$objects" && printf '%s\n' *.o | xargs "$AR" rcsD "$root/lib/lib$name.a")
}

cmake_install() { # NAME SOURCE OPTION...
	local name=$1 from=$2
	shift 2
	cat >"$build/toolchain.cmake" <<-END
		set(CMAKE_SYSTEM_NAME Linux)
		set(CMAKE_SYSTEM_PROCESSOR $(uname -m))
		set(CMAKE_C_COMPILER "$CC")
		set(CMAKE_FIND_ROOT_PATH "$root")
		set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
		set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
		set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
		set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
	END
	CFLAGS=$CFLAGS PKG_CONFIG_LIBDIR=$root/lib/pkgconfig cmake -G Ninja -S "$from" \
		-B "$build/$name" -DCMAKE_TOOLCHAIN_FILE="$build/toolchain.cmake" \
		-DCMAKE_INSTALL_PREFIX="$root" -DCMAKE_INSTALL_LIBDIR=lib \
		-DCMAKE_BUILD_TYPE=None -DCMAKE_EXE_LINKER_FLAGS=$EXE \
		-DBUILD_SHARED_LIBS=OFF -DBUILD_STATIC_LIBS=ON -DBUILD_TESTING=OFF "$@"
	ninja -j "$jobs" -C "$build/$name" install
}

# Not Debian 12's musl-gcc: it makes -static-pie a dynamic PIE and its resolver
# knows no TCP. The kernel's headers are the machine's, after everything else.
build_musl() {
	local multiarch
	multiarch=$(gcc -print-multiarch)
	mkdir -p "$build/musl" "$root/bin" "$root/kernel"
	(cd "$build/musl" && "$src/musl/configure" --prefix="$root/libc" \
		--syslibdir="$root/libc/lib" --disable-shared --enable-wrapper=gcc \
		CC=gcc CFLAGS="-O2 $map" && make -s -j "$jobs" && make -s install)
	for dir in linux asm-generic mtd; do
		ln -s "/usr/include/$dir" "$root/kernel/$dir"
	done
	ln -s "/usr/include/$multiarch/asm" "$root/kernel/asm"
	cat >"$root/bin/musl-gcc" <<-END
		#!/bin/sh
		exec "\${REALGCC:-gcc}" "\$@" -specs "$root/libc/lib/musl-gcc.specs" -idirafter "$root/kernel"
	END
	chmod 755 "$root/bin/musl-gcc"
	rm -rf "$root/libc/bin"
}

build_zlib() {
	archive z "-DHAVE_UNISTD_H -DHAVE_HIDDEN -D_LARGEFILE64_SOURCE=1" \
		zlib/{adler32,compress,crc32,deflate,gzclose,gzlib,gzread,gzwrite,infback}.c \
		zlib/{inffast,inflate,inftrees,trees,uncompr,zutil}.c
	cp zlib/{zlib,zconf}.h "$root/include/"
}

build_libzstd() {
	local z=libzstd/lib
	archive zstd "-DZSTD_MULTITHREAD -DZSTD_LEGACY_SUPPORT=0 -DXXH_NAMESPACE=ZSTD_ -I$z -I$z/common" \
		$z/{common,compress,decompress}/*.c $z/decompress/*.S
	cp $z/{zstd,zstd_errors,zdict}.h "$root/include/"
	[ "$flavour" = musl ] || return 0
	# shellcheck disable=SC2086
	"$CC" $CFLAGS $EXE -I"$root/include" -o "$root/bin/pack" "$vendor/pack.c" "$root/lib/libzstd.a"
}

# Its xxhash has the name of zstd's: renamed.
build_lz4() {
	local z=lz4/lib
	archive lz4 "-DXXH_NAMESPACE=LZ4_ -I$z" $z/{lz4,lz4hc,lz4frame,xxhash}.c
	cp $z/{lz4,lz4hc,lz4frame}.h "$root/include/"
}

# The decoder alone.
build_brotli() {
	archive brotli "-Ibrotli/c/include" brotli/c/{common,dec}/*.c
	mkdir -p "$root/include/brotli"
	cp brotli/c/include/brotli/*.h "$root/include/brotli/"
}

build_cjson() {
	patch -s -p1 -d cjson <"$vendor/patches/cjson-literals.patch"
	patch -s -p1 -d cjson <"$vendor/patches/cjson-threads.patch"
	archive cjson "" cjson/cJSON.c
	mkdir -p "$root/include/cjson"
	cp cjson/cJSON.h "$root/include/cjson/"
}

build_libyaml() {
	archive yaml "-DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 \
		-DYAML_VERSION_STRING='\"0.2.5\"' -DYAML_DECLARE_STATIC -Ilibyaml/include" \
		libyaml/src/{api,dumper,emitter,loader,parser,reader,scanner,writer}.c
	cp libyaml/include/yaml.h "$root/include/"
}

# Without entities of a document's own and without DTDs: who parses what a server
# sent has no use for them. &amp; and &#38; are not among those.
build_expat() {
	mkdir -p "$build/expat"
	printf '#define %s\n' "BYTEORDER 1234" "HAVE_GETRANDOM 1" "XML_GE 0" "XML_NS 1" \
		"XML_CONTEXT_BYTES 0" >"$build/expat/expat_config.h"
	archive expat "-I$build/expat -Iexpat/expat/lib" \
		expat/expat/lib/{xmlparse,xmlrole,xmltok,random_getrandom}.c
	cp expat/expat/lib/{expat,expat_external}.h "$root/include/"
}

# One object that stands before every archive, so that all of malloc is replaced.
# Not collected on exit: it unmaps memory that other threads may still read.
build_mimalloc() {
	patch -s -p1 -d mimalloc <"$vendor/patches/mimalloc-threads.patch"
	# shellcheck disable=SC2086
	"$CC" $CFLAGS -w -DNDEBUG -DMI_MALLOC_OVERRIDE=1 -DMI_SKIP_COLLECT_ON_EXIT=1 -ftls-model=local-exec \
		-Imimalloc/include -c mimalloc/src/static.c -o "$root/lib/mimalloc.o"
}

build_fastmem() {
	[ "$(uname -m)" = x86_64 ] || return 0
	# shellcheck disable=SC2086
	"$CC" $CFLAGS -ffile-prefix-map="$vendor"=. -fno-builtin \
		-fno-tree-loop-distribute-patterns -fno-stack-protector \
		-c "$vendor/fastmem.c" -o "$root/lib/fastmem.o"
}

# AES-GCM, SHA-256 and SHA-1 for mbedTLS. "Fat": it asks the CPU, at start, what it
# has. Only what mbedtls-nettle/glue.c needs is built; build_mbedtls takes it.
build_nettle() {
	local n=$build/nettle
	local objects=(aes{128,192,256}-{set-encrypt-key,{de,en}crypt{,-2}}.o
		cbc-aes{128,192,256}-encrypt{,-2}.o aes-{{de,en}crypt-{internal,table},set-key-internal}.o
		{ghash-set-key,ghash-update,memxor,sha1-compress,sha256-compress-n}{,-2}.o
		{cbc,cpuid,ctr16,fat-x86_64,gcm,memxor3,sha256,write-be32}.o)
	[ "$(uname -m)" = x86_64 ] || return 0
	mkdir -p "$n" "$root/include/nettle"
	(cd "$n" && CC=$CC CFLAGS=$CFLAGS LDFLAGS=$EXE bash "$src/nettle/configure" \
		--enable-fat --disable-shared --disable-public-key --disable-openssl \
		--disable-documentation --prefix="$root")
	make -C "$n" -j "$jobs" CFLAGS="$CFLAGS" "${objects[@]}"
	cp "$src"/nettle/{aes,camellia,sm4,gcm,sha2,nettle-types}.h "$root/include/nettle/"
}

# The configuration is edited in the header that gets installed: a -D given here
# alone would give its users structures of another size.
build_mbedtls() {
	local m=$src/mbedtls e=$src/mbedtls/3rdparty/everest option
	local config="python3 $m/scripts/config.py -f $m/include/mbedtls/mbedtls_config.h"
	for option in THREADING_C THREADING_PTHREAD; do
		$config set "MBEDTLS_$option"
	done
	for option in DEBUG_C SELF_TEST SSL_PROTO_DTLS SSL_DTLS_ANTI_REPLAY \
		SSL_DTLS_HELLO_VERIFY SSL_DTLS_CLIENT_PORT_REUSE SSL_DTLS_CONNECTION_ID \
		SSL_DTLS_CONNECTION_ID_COMPAT; do
		$config unset "MBEDTLS_$option"
	done
	cat "$vendor/mbedtls-config.h" >>"$m/include/mbedtls/mbedtls_config.h"
	patch -s -p1 -d "$m" <"$vendor/patches/mbedtls-tls12-pss.patch"
	patch -s -p1 -d "$m" <"$vendor/patches/mbedtls-x25519.patch"
	cp "$vendor"/mbedtls-nettle/*.h "$root/include/"
	CFLAGS="$CFLAGS -I$root/include" cmake_install mbedtls "$m" -DENABLE_PROGRAMS=OFF \
		-DENABLE_TESTING=OFF \
		-DUSE_STATIC_MBEDTLS_LIBRARY=ON -DUSE_SHARED_MBEDTLS_LIBRARY=OFF \
		-DGEN_FILES=OFF -DMBEDTLS_FATAL_WARNINGS=OFF
	# shellcheck disable=SC2086
	"$CC" $CFLAGS -DMBEDTLS_ECDH_VARIANT_EVEREST_ENABLED -I"$m/include" -I"$m/library" \
		-I"$e/include" -I"$e/include/everest" -I"$e/include/everest/kremlib" \
		-c "$e/library/Hacl_Curve25519_joined.c" -o "$build/x25519.o"
	# shellcheck disable=SC2086
	"$CC" $CFLAGS -ffile-prefix-map="$vendor"=. -I"$root/include" \
		-c "$vendor/mbedtls-entropy.c" -o "$build/mbedtls-entropy.o"
	"$AR" rcsD "$root/lib/libmbedcrypto.a" "$build/x25519.o" "$build/mbedtls-entropy.o"
	[ "$(uname -m)" = x86_64 ] || return 0
	# shellcheck disable=SC2086
	"$CC" $CFLAGS -ffile-prefix-map="$vendor"=. -I"$build/nettle" -I"$src/nettle" \
		-I"$root/include" -c "$vendor/mbedtls-nettle/glue.c" -o "$build/nettle/glue.o"
	(cd "$build/nettle" && printf '%s\n' *.o | xargs "$AR" rcsD "$root/lib/libmbedcrypto.a")
}

build_nghttp2() {
	cmake_install nghttp2 "$src/nghttp2" -DENABLE_LIB_ONLY=ON -DENABLE_DOC=OFF
}

build_libssh2() {
	patch -s -p1 -d libssh2 <"$vendor/patches/libssh2-exit-status.patch"
	cmake_install libssh2 "$src/libssh2" -DBUILD_EXAMPLES=OFF \
		-DCRYPTO_BACKEND=mbedTLS -DENABLE_ZLIB_COMPRESSION=OFF
}

build_curl() {
	patch -s -p1 -d curl <"$vendor/patches/curl-whole-pieces.patch"
	patch -s -p1 -d curl <"$vendor/patches/curl-read-ahead.patch"
	cmake_install curl "$src/curl" -DBUILD_CURL_EXE=OFF -DBUILD_LIBCURL_DOCS=OFF \
		-DBUILD_MISC_DOCS=OFF -DENABLE_CURL_MANUAL=OFF -DHTTP_ONLY=ON \
		-DCURL_ENABLE_SSL=ON -DCURL_USE_MBEDTLS=ON -DCURL_USE_OPENSSL=OFF \
		-DUSE_NGHTTP2=ON -DCURL_USE_LIBSSH2=OFF -DCURL_USE_LIBPSL=OFF \
		-DUSE_LIBIDN2=OFF -DCURL_ZLIB=ON -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF \
		-DENABLE_THREADED_RESOLVER=ON -DENABLE_UNIX_SOCKETS=ON \
		-DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none -DCURL_DISABLE_ALTSVC=ON \
		-DCURL_DISABLE_HSTS=ON -DCURL_DISABLE_NTLM=ON -DCURL_DISABLE_NETRC=ON \
		-DENABLE_WEBSOCKETS=ON
}

# The compiler's own library and start files, as its Debian package describes them.
licenses_libgcc() { # FOLDER
	local file package
	file=$(realpath "$(gcc -print-libgcc-file-name)")
	package=$(dpkg-query -S "$file" | sed 's/:.*//')
	dpkg-query -W -f 'libgcc ${Version}\n' "$package" >>"$root/versions"
	cp "/usr/share/doc/$package/copyright" "$1/copyright"
	cp /usr/share/common-licenses/GPL-3 "$1/GPL-3"
}

# The texts of what vendor/licenses names, out of the sources that were built.
licenses() {
	local name files file to
	while read -r name files _; do
		[[ $name != "#"* ]] || continue
		to=$root/licenses/$name
		mkdir -p "$to"
		if [ "$name" = libgcc ]; then
			licenses_libgcc "$to"
			continue
		fi
		for file in ${files//,/ } debian/copyright; do
			[ "$name" = nettle ] && [ ! -e "$src/nettle/$file" ] && [ -n "${KFTRAINER_NETTLE-}" ] ||
				cp "$src/$name/$file" "$to/${file##*/}"
		done
	done <"$vendor/licenses"
	chmod -R u=rwX,go=rX "$root/licenses"
}

build_cmocka() {
	archive cmocka "-DHAVE_MALLOC_H -DHAVE_INTTYPES_H -DHAVE_SIGNAL_H -DHAVE_STRINGS_H \
		-DHAVE_GCC_THREAD_LOCAL_STORAGE -DHAVE_CLOCK_REALTIME -DHAVE_SIGLONGJMP \
		-DHAVE_STRSIGNAL -DHAVE_STRUCT_TIMESPEC -w -Icmocka/include" \
		cmocka/src/cmocka.c
	cp cmocka/include/{cmocka,cmocka_pbc}.h "$root/include/"
}
