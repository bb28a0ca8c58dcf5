# kftrainer: one static binary, one build file.
#
#   make            ./kftrainer, static-pie, from the pinned libraries of vendor/
#   make demo       the main job: train a real model on this machine
#   make check      every test (make quick: the daily loop)
#   make install    PREFIX=/usr/local DESTDIR= : program, kubectl plugin, manual page, completions
#   make image      build/kftrainer-image.tar, for docker load and ctr images import, and its SBOM; chart: for helm
#   make release    build/release/: what users install, with checksums
#   make sources    DIST=. : one archive from which this release can be built without any mirror
#   make unit [ROOM=api] | golden | cli | local | store | mpi | cache | gpu | ui | cluster | e2e | build | lint | fuzz | bench     a layer of its own
#   make format [ROOM=api] | compdb | dist | cross | repro | clean

V       ?= 0
# make would look for every .d file by each of its own rules, a second of CPU time a call.
MAKEFLAGS += --no-builtin-rules
say      = @$(if $(filter 0,$(V)),printf '  %-5s %s\n' $(1) $(2);)
VERSION := $(shell cat core/assets/VERSION 2>/dev/null)
OUT     := build/rel
SANOUT  := build/san
AOUT    := build/aarch64

# Who may include, and so link, whom (besides itself): tests/lint/layers.awk reads this table.
ROOMS         := base crypto net cloud pack arrow api logtext kube store registry trainer convert plugins spec why client ui manager jobs apiserver kubelet local machine cache mpi supervise runs history gpu nodecheck assets cmd
NEEDS_crypto  := base
NEEDS_net     := crypto base
NEEDS_cloud   := net crypto base
NEEDS_pack    := crypto base
NEEDS_arrow   := base
NEEDS_api     := base
NEEDS_kube    := net crypto api base
NEEDS_store   := cloud net crypto base
NEEDS_registry := cloud net crypto base
NEEDS_trainer := api base
NEEDS_logtext := base
NEEDS_convert := trainer api base
NEEDS_plugins := trainer api base
NEEDS_spec    := plugins trainer pack net crypto api assets base
NEEDS_why     := kube plugins trainer logtext net crypto api base
NEEDS_client  := kubelet jobs apiserver why kube spec plugins trainer logtext pack net crypto api assets base
NEEDS_ui      := client kubelet jobs apiserver why kube spec plugins trainer logtext pack net crypto api assets base
NEEDS_manager := kube plugins trainer logtext net crypto api assets base
NEEDS_jobs    := trainer crypto api base
NEEDS_kubelet := apiserver jobs trainer pack net crypto api assets base
NEEDS_local   := kubelet jobs apiserver trainer logtext pack net crypto api assets base
NEEDS_machine := local kubelet jobs apiserver manager kube spec plugins trainer logtext pack net crypto api assets base
NEEDS_cache   := store cloud arrow net crypto base
NEEDS_mpi     := net crypto base
NEEDS_supervise := trainer pack net crypto api base
NEEDS_runs    := store cloud pack net crypto base
NEEDS_history := runs local kubelet jobs apiserver trainer logtext store cloud pack net crypto api assets base
NEEDS_gpu     := base
NEEDS_nodecheck := net crypto base
NEEDS_assets  :=
NEEDS_apiserver := trainer net crypto api assets base
NEEDS_cmd     := history ui machine manager local kubelet jobs apiserver client why convert spec cache mpi supervise runs gpu nodecheck registry store cloud pack kube plugins trainer logtext arrow net crypto api assets base

dir_of   = $(firstword $(wildcard $(1) core/$(1)))
src_of   = $(sort $(wildcard $(addprefix $(call dir_of,$(1))/,*.c ui/*.c *.S)))
SRC     := main.c $(foreach r,$(ROOMS),$(if $(call dir_of,$(r)),$(call src_of,$(r))))
HDR     := $(wildcard core/*/*.h plugins/*.h gpu/*.h gpu/helper/*.h cmd/*.h cmd/ui/*.h)

WARN    := -Wall -Wextra -Wshadow -Wvla -Wformat=2 -Wundef -Wpointer-arith -Wstrict-prototypes \
           -Wmissing-prototypes -Wold-style-definition -Wwrite-strings -Wimplicit-fallthrough \
           -Wnull-dereference -Wno-unused-parameter -Werror
CODE    := -std=gnu11 $(WARN) -fno-strict-aliasing -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -I. -Icore
REPRO   := '-ffile-prefix-map=$(CURDIR)=.'
CFLAGS  ?= -O2

sysroot   = $(or $($(1)_root),$(eval $(1)_root := $(shell vendor/sysroot.sh $(1)))$($(1)_root),\
              $(error there is no folder for the libraries))
SYSROOT   = $(call sysroot,musl)
SANROOT   = $(call sysroot,san)
CROSSROOT = $(call sysroot,aarch64)
BOTH     = $(CODE) $(CFLAGS) $(REPRO) -ffunction-sections -fdata-sections -fstack-protector-strong \
           -fPIE -D_FORTIFY_SOURCE=0
# Of an unknown length, memcpy() is faster than "rep movs", which takes 30 cycles before it begins.
REL      = $(BOTH) -mmemcpy-strategy=libcall:-1:noalign -fcf-protection -isystem $(SYSROOT)/include
# As on x86-64, char is signed and a product is rounded before it is added: the same input, the same output.
ARM      = $(BOTH) -fsigned-char -ffp-contract=off -isystem $(CROSSROOT)/include
SAN      = $(CODE) -gline-tables-only -O0 -fsanitize=address,undefined -fno-sanitize-recover=all \
           -fno-omit-frame-pointer -Wno-unused-command-line-argument -isystem $(SANROOT)/include $(SANMORE)
# tests/unit/cost.h counts the work of code that is compiled with it.
COUNTED := -fsanitize-coverage=trace-pc-guard
# The handshake of mbedTLS reads certificates by core/crypto/crypto.c.
LIBS     = -Wl,--wrap=mbedtls_x509_crt_parse_der -lcurl -lnghttp2 -lssh2 -lmbedtls -lmbedx509 -lmbedcrypto -lzstd \
           -lbrotli -llz4 -lz -lyaml -lcjson -lexpat -lpthread
# What `kftrainer version` says is inside; cmd/version.c has the form.
INSIDE   = $(shell awk 'NR == FNR { linked[$$1] = !/^\#/; next } linked[$$1] { printf "%s@%s;", $$1, $$2 }' vendor/licenses $(1) 2>/dev/null)
LINKED   = -DLIBRARIES='"$(call INSIDE,$(1)/versions)"' -DUNPINNED='"$(call INSIDE,$(1)/unpinned)"' \
           -DCOMMIT='"$(COMMIT)"'
$(OUT)/cmd/version.c.o: REL += $(call LINKED,$(SYSROOT))
$(AOUT)/cmd/version.c.o: ARM += $(call LINKED,$(CROSSROOT))
LINK     = -static-pie -Wl,--gc-sections,-z,relro,-z,now,-z,noexecstack,-z,stack-size=1048576,--build-id=none -s

.SECONDARY:
.DELETE_ON_ERROR:
.PHONY: all vendor demo check quick unit musl sim programs golden cli local store mpi mpi-short cache gpu ui cluster e2e build repro cross arm64 lint layers budget text lint-self comments prefixes headers \
        style fuzz bench soak format compdb dist sources install image chart release clean help crds FORCE
all: kftrainer

vendor: $(SYSROOT)/.done $(SANROOT)/.done
$(SYSROOT)/.done $(SANROOT)/.done $(CROSSROOT)/.done:
	@vendor/build.sh $(word 2,$(subst -, ,$(notdir $(@D))))

$(OUT)/tests/build/test_fastmem.c.o: REL += -fno-builtin -fno-tree-loop-distribute-patterns
# Loops over levels and values: several at a time.
$(OUT)/core/arrow/%.o: REL += -fvect-cost-model=dynamic
$(AOUT)/core/arrow/%.o: ARM += -fvect-cost-model=dynamic
# CCACHE=ccache compiles through it, as tests/check.sh does where it is installed.
# .sysroot changes with the libraries (vendor/lock, KFTRAINER_NETTLE) and the version, and all is built again.
define compile # FOLDER, COMPILER AND FLAGS, LIBRARIES
$(1)/.sysroot: $(3)/.done FORCE
	@mkdir -p $$(@D); echo $(3) $(VERSION) | cmp -s - $$@ || echo $(3) $(VERSION) >$$@
$(1)/%.o: % $(1)/.sysroot
	@mkdir -p $$(@D)
	$$(call say,CC,$$(@:build/%.o=%)) $$(CCACHE) $(2) -MMD -MP -c -o $$@ $$<
endef
$(eval $(call compile,$(OUT),$$(SYSROOT)/bin/musl-gcc $$(REL),$(SYSROOT)))
$(eval $(call compile,$(SANOUT),clang $$(SAN) $$(COUNTED),$(SANROOT)))
$(eval $(call compile,build/fuzz,clang $$(SAN) -O1 -fsanitize=fuzzer-no-link,$(SANROOT)))
$(eval $(call compile,$(AOUT),$$(CROSSROOT)/bin/musl-gcc $$(ARM),$(CROSSROOT)))

# ---- the program ---------------------------------------------------------------------------------
kftrainer: $(OUT)/kftrainer
	@ln -f $< $@ 2>/dev/null || cp $< $@
link     = $(1)/bin/musl-gcc $(CFLAGS) -o $@ $(1)/lib/*.o $^ -L$(1)/lib $(LIBS) $(LINK)
$(OUT)/kftrainer: $(SRC:%=$(OUT)/%.o)
	$(call say,LD,$@) $(call link,$(SYSROOT)) -Wl,-Map=$(@).map
$(AOUT)/kftrainer: $(SRC:%=$(AOUT)/%.o)
	$(call say,LD,$@) $(call link,$(CROSSROOT))
# The programs of a release differ in what they call themselves: RELEASE, by vendor/release.sh.
build/release-amd64/kftrainer: build/release-amd64/version.o $(patsubst %,$(OUT)/%.o,$(filter-out cmd/version.c,$(SRC)))
	$(call say,LD,$@) $(call link,$(SYSROOT))
build/release-arm64/kftrainer: build/release-arm64/version.o $(patsubst %,$(AOUT)/%.o,$(filter-out cmd/version.c,$(SRC)))
	$(call say,LD,$@) $(call link,$(CROSSROOT))
build/release-amd64/version.o: | $(SYSROOT)/.done
build/release-arm64/version.o: | $(CROSSROOT)/.done
build/release-amd64/version.o: CC = $(SYSROOT)/bin/musl-gcc $(REL) $(call LINKED,$(SYSROOT))
build/release-arm64/version.o: CC = $(CROSSROOT)/bin/musl-gcc $(ARM) $(call LINKED,$(CROSSROOT))
build/release-%/version.o: cmd/version.c FORCE
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) -DRELEASE='"$(RELEASE)"' -c -o $@ $<

$(OUT)/core/assets/assets.S.o $(SANOUT)/core/assets/assets.S.o $(AOUT)/core/assets/assets.S.o: core/assets/VERSION \
  $(wildcard core/assets/*.yaml core/assets/*/*.yaml core/assets/*/*.py core/assets/page/*)
$(OUT)/core/assets/assets.S.o $(SANOUT)/core/assets/assets.S.o $(AOUT)/core/assets/assets.S.o: \
  build/licenses.zst build/schema.json build/machine.json build/page/uplot.js
# What the page's script uses, pinned like the libraries.
build/page/uplot.js build/page/uplot.css build/page/uplot.LICENSE &: vendor/npm.lock vendor/npm.py
	@vendor/npm.py "$(dir $(SYSROOT))sources" build/page
# The schemas as JSON: every command that checks a TrainJob parses them.
build/%.json: core/assets/%.yaml $(OUT)/core/assets/tool/yaml2json
	@$(OUT)/core/assets/tool/yaml2json <$< >$@
$(OUT)/core/assets/tool/yaml2json: $(patsubst %,$(OUT)/%.o,core/assets/tool/yaml2json.c $(call src_of,base))
	$(call say,LD,$@) $(SYSROOT)/bin/musl-gcc $(CFLAGS) -o $@ $(SYSROOT)/lib/*.o $^ -L$(SYSROOT)/lib $(LIBS) $(LINK)
# What talks to NVIDIA's libraries: dynamic, by the machine's own gcc, embedded by gpu/helper.S.
HELPER  := $(wildcard gpu/helper/*.c)
HELPED   = $(HELPER) $(wildcard gpu/helper/*.h) gpu/wire.h Makefile
HELPERC  = $(CODE) -O2 $(REPRO) -fPIE -pie -fstack-protector-strong -s \
           -Wl,-z,relro,-z,now,-z,noexecstack,--build-id=none
build/gpu-helper: $(HELPED)
	@mkdir -p $(@D)
	$(call say,LD,gpu-helper) gcc $(HELPERC) -o $@ $(HELPER)
$(AOUT)/gpu-helper: $(HELPED)
	@mkdir -p $(@D)
	$(call say,LD,aarch64/gpu-helper) aarch64-linux-gnu-gcc $(HELPERC) -o $@ $(HELPER)
$(foreach o,$(OUT) $(SANOUT) build/fuzz,$(o)/gpu/helper.S.o): build/gpu-helper
$(foreach o,$(OUT) $(SANOUT) build/fuzz,$(o)/gpu/helper.S.o): private CODE += -DGPU_HELPER='"build/gpu-helper"'
$(AOUT)/gpu/helper.S.o: $(AOUT)/gpu-helper
$(foreach o,$(OUT) $(SANOUT) build/fuzz $(AOUT),$(o)/gpu/expect.S.o): gpu/thresholds.json
$(AOUT)/gpu/helper.S.o: private CODE += -DGPU_HELPER='"$(AOUT)/gpu-helper"'
# What makes ranks of MPICH 4.0 end, for LD_PRELOAD of local pods.
PRELOADED := core/local/mpich/progress.c
build/mpich.so: $(PRELOADED) Makefile
	@mkdir -p $(@D)
	$(call say,LD,$@) gcc $(PRELOADC) -o $@ $<
$(AOUT)/mpich.so: $(PRELOADED) Makefile
	@mkdir -p $(@D)
	$(call say,LD,$@) aarch64-linux-gnu-gcc $(PRELOADC) -o $@ $<
PRELOADC = $(CODE) -O2 $(REPRO) -fPIC -shared -s -Wl,-z,relro,-z,now,-z,noexecstack,--build-id=none
$(foreach o,$(OUT) $(SANOUT),$(o)/core/assets/assets.S.o): build/mpich.so
$(AOUT)/core/assets/assets.S.o: $(AOUT)/mpich.so
$(AOUT)/core/assets/assets.S.o: private CODE += -DMPICH='"$(AOUT)/"'
build/licenses.zst: build/licenses.txt
	@$(SYSROOT)/bin/pack <$< >$@
build/licenses.txt: $(SYSROOT)/.done build/page/uplot.LICENSE vendor/licenses vendor/licenses.py vendor/relink.txt LICENSE NOTICE core/assets/VERSION
	@mkdir -p $(@D)
	@vendor/licenses.py $(VERSION) $(SYSROOT) >$@
crds: kftrainer
	@mkdir -p build/crds; ./kftrainer install --crds > build/crds/crds.yaml

# ---- the same sources under ASan and UBSan, an archive a room ------------------------------------
WRAPPED := __asan_memcpy __asan_memmove __asan_memset strlen strchr strstr memchr strcmp strncmp memcmp cJSON_GetArraySize \
           cJSON_GetArrayItem cJSON_DetachItemFromArray cJSON_DeleteItemFromArray cJSON_InsertItemInArray \
           cJSON_ReplaceItemInObjectCaseSensitive cJSON_DetachItemFromObjectCaseSensitive cJSON_DeleteItemFromObjectCaseSensitive
comma   := ,
define room_rules
$(SANOUT)/lib$(1).a: $(patsubst %,$(SANOUT)/%.o,$(call src_of,$(1))) ; @mkdir -p $$(@D); rm -f $$@; ar rcsD $$@ $$^
archives_$(1) := $(foreach r,$(1) $(NEEDS_$(1)),$(if $(call src_of,$(r)),$(SANOUT)/lib$(r).a))
$(SANOUT)/tests/unit/$(1)/%: $(SANOUT)/tests/unit/$(1)/%.c.o $(if $(filter base,$(1) $(NEEDS_$(1))),$(SANOUT)/tests/unit/cost.c.o) $$(archives_$(1))
	$$(call say,LD,$$@) clang $(value SANLINK) $$(patsubst %,-Wl$$(comma)--wrap=%,$$(if $$(filter %/cost.c.o,$$^),$(WRAPPED))) -o $$@ $$^ -L$$(SANROOT)/lib -lcmocka $$(LIBS) -lm
endef
# The same tests with the program's own C library: musl differs from glibc where C leaves it open.
# Not those that ask the sanitizers; warnings were clang's task.
ASKS_SAN := %/test_cost.c %/base/test_buf.c %/net/test_h2.c %/runs/test_linkcopy_read.c
$(OUT)/tests/unit/%.c.o: REL += -w
$(AOUT)/tests/%.c.o: ARM += -w -D_UINTPTR_T
define musl_rules # ROOM, FOLDER, LIBRARIES
$(2)/tests/unit/$(1)/%: $(2)/tests/unit/$(1)/%.c.o $(foreach r,$(1) $(NEEDS_$(1)),$(patsubst %,$(2)/%.o,$(call src_of,$(r))))
	$$(call say,LD,$$@) $(3)/bin/musl-gcc -static-pie -Wl,--gc-sections -o $$@ $$(wildcard $(3)/lib/*.o) $$^ -L$(3)/lib -lcmocka $$(LIBS) -lm
endef
SANLINK := -fsanitize=address,undefined -fuse-ld=lld-14
$(SANOUT)/tests/unit/cost.c.o: COUNTED :=
$(foreach r,$(ROOMS),$(eval $(call room_rules,$(r)))$(eval $(call musl_rules,$(r),$(OUT),$(SYSROOT)))$(eval $(call musl_rules,$(r),$(AOUT),$(CROSSROOT))))
$(SANOUT)/kftrainer: $(SRC:%=$(SANOUT)/%.o)
	$(call say,LD,$@) clang $(SANLINK) -o $@ $^ -L$(SANROOT)/lib $(LIBS) -lm

# ---- the two commands of README.md ---------------------------------------------------------------
demo:
	@tests/setup.sh demo
	@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j"$$(nproc)") kftrainer
	./kftrainer submit --local examples/digits.yaml
# What the last layers need takes long to build where it is not cached: that begins at once. What
# several layers run is linked before them: two makes would link it twice. MPI's implementations are
# the first to suffer on a busy machine: they run beside a compiler that is nice. So does what qemu runs, with what is left.
check:
	@tests/setup.sh check
	@tests/setup.sh e2e >/dev/null 2>&1 & \
	 nice vendor/build.sh aarch64 >/dev/null 2>&1 & \
	 tests/setup.sh stack >/dev/null 2>&1 & \
	 tests/check.sh lint kftrainer programs+mpi-short+build+cross golden \
	   cluster+local+e2e+store+cli+cache+unit+musl+gpu+ui+repro
quick:
	@tests/setup.sh quick
	@tests/check.sh $(QUICK)
QUICK   := lint unit golden cli

# ---- tests ---------------------------------------------------------------------------------------
ROOM    ?= *
UNIT     = $(patsubst %.c,$(SANOUT)/%,$(wildcard tests/unit/$(ROOM)/test_*.c) $(if $(filter $(ROOM),*),$(FUZZ)))
# WORLDS of BUILD, if ROOM has one: tests/sim.
worlds   = $(if $(filter $(ROOM),* manager),$(1)/tests/sim/jobs) $(if $(filter $(ROOM),* apiserver),$(1)/tests/sim/journal) $(if $(filter $(ROOM),* cache),$(1)/tests/sim/cache) $(if $(filter $(ROOM),* supervise),$(1)/tests/sim/supervise)
toys     = $(if $(filter $(ROOM),*),$(1)/tests/sim/toy)
unit: $(UNIT) $(call worlds,$(SANOUT))
	@LANES=$${LANES:-2} tests/run.sh unit $^
musl: kftrainer $(patsubst %.c,$(OUT)/%,$(filter-out $(ASKS_SAN),$(wildcard tests/unit/$(ROOM)/test_*.c))) \
      $(call worlds,$(OUT)) $(if $(filter $(ROOM),*),tests/sim/test_traces.sh) | $(call worlds,$(SANOUT)) $(call toys,$(OUT)) $(call toys,$(SANOUT))
	@LANES=$${LANES:-2} tests/run.sh musl $(filter-out kftrainer,$^)
# What layers run that were compiled with the sanitizers; and what several layers' tests make, before they do it at once.
programs:
	@nice -n 5 $(MAKE) --no-print-directory $(UNIT) $(call worlds,$(SANOUT)) $(call toys,$(SANOUT)) $(SANOUT)/tests/golden/golden $(SANOUT)/kftrainer $(SANOUT)/tests/cache/dump build/kftrainer-shifted

# LAYER, FIRST, LAST: a layer's programs, the longest first, so that no lane works alone in the end.
ordered  = $(2:%=tests/$(1)/test_%) $(filter-out $(patsubst %,tests/$(1)/test_%,$(2) $(3)),$(wildcard tests/$(1)/test_*)) $(3:%=tests/$(1)/test_%)

lint: headers layers budget text style lint-self
layers:
	@awk -f tests/lint/layers.awk Makefile $(filter %.c,$(SRC)) $(HDR) $(HELPER) $(wildcard tests/unit/*/*.[ch])
budget:
	@awk -f tests/lint/budget.awk $(filter %.c,$(SRC)) $(HDR) $(HELPER) $(PRELOADED)
text:
	@tests/lint/text.sh
comments:
	@awk -f tests/lint/subject.awk $(filter %.c,$(SRC)) $(HDR) $(HELPER) $(PRELOADED)
prefixes:
	@awk -f tests/lint/prefix.awk $(filter %.c,$(SRC)) $(HDR) $(HELPER)
lint-self:
	@tests/run.sh lint tests/lint/test_lint.sh
headers: $(HDR:%=$(SANOUT)/%.ok)
$(SANOUT)/%.h.ok: %.h $(SANROOT)/.done
	@mkdir -p $(@D)
	@clang $(SAN) -Wno-unused-macros -fsyntax-only -include $< -xc /dev/null && touch $@

cli: kftrainer $(SANOUT)/tests/golden/golden
	@LANES=$${LANES:-2} tests/run.sh cli $(call ordered,cli,install.sh convert.py mpi_watch.py mpi_ssh.py docs.py,)
# docs/simulation.md says what a world is. tests/sim/run runs some schedules of it, or shows one.
define sim_rules # WORLD, ROOMS, FUNCTIONS THAT IT REPLACES, OTHER SOURCES
SIM_$(1) := $(wildcard tests/sim/$(1)*.c) tests/sim/events.c $(4)
$(SANOUT)/tests/sim/$(1): $$(SIM_$(1):%=$(SANOUT)/%.o) $(foreach r,$(2),$(if $(call src_of,$(r)),$(SANOUT)/lib$(r).a))
	$$(call say,LD,$$@) clang $$(SANLINK) $(3:%=-Wl,--wrap=%) -o $$@ $$^ -L$$(SANROOT)/lib $$(LIBS) -lm
$(call sim_musl,$(1),$(2),$(3),$(OUT),$$(SYSROOT))
$(call sim_musl,$(1),$(2),$(3),$(AOUT),$$(CROSSROOT))
endef
define sim_musl # ITS FIRST THREE, BUILD, LIBRARIES
$(4)/tests/sim/$(1): $$(SIM_$(1):%=$(4)/%.o) $(foreach r,$(2),$(patsubst %,$(4)/%.o,$(call src_of,$(r))))
	$$(call say,LD,$$@) $(5)/bin/musl-gcc -static-pie -Wl,--gc-sections $(3:%=-Wl,--wrap=%) -o $$@ $(5)/lib/*.o $$^ -L$(5)/lib $$(LIBS) -lm
endef
SIM_THREADS := clock_ms clock_now clock_gettime clock_sleep_ms getrandom stop_wait stop_requested stop_fd thread_start pthread_join \
  cond_wait_until pthread_cond_signal pthread_cond_broadcast poll eventfd timerfd_create timerfd_settime read write close
$(eval $(call sim_rules,jobs,manager jobs apiserver $(NEEDS_manager),$(SIM_THREADS) keypair_ssh,tests/sim/threads.c))
$(eval $(call sim_rules,journal,apiserver $(NEEDS_apiserver),$(filter-out getrandom,$(SIM_THREADS)) pthread_cond_wait pthread_mutex_lock \
  open openat lseek fstat ftruncate flock fdatasync fsync renameat unlinkat,tests/sim/threads.c tests/sim/disk.c))
$(eval $(call sim_rules,cache,cache $(NEEDS_cache),clock_ms))
$(eval $(call sim_rules,supervise,supervise $(NEEDS_supervise),clock_ms))
$(eval $(call sim_rules,toy,base,clock_ms))
sim:
	@tests/sim/run --schedules $${SCHEDULES:-10000}
# tests/fuzz/README says what a target is. Unit tests run each over its corpus.
FUZZ    := $(wildcard tests/fuzz/fuzz_*.c)
FUZZED  := history ui machine gpu nodecheck cache arrow mpi supervise runs client why spec manager kube registry store cloud local kubelet jobs apiserver pack plugins convert trainer logtext net crypto api assets base
$(FUZZ:%.c=$(SANOUT)/%): $(SANOUT)/%: $(SANOUT)/%.c.o $(SANOUT)/tests/fuzz/replay.c.o \
  $(foreach r,$(FUZZED),$(SANOUT)/lib$(r).a)
	$(call say,LD,$@) clang $(SANLINK) -o $@ $^ -L$(SANROOT)/lib $(LIBS) -lm
build/fuzz/fuzz_%: build/fuzz/tests/fuzz/fuzz_%.c.o \
  $(patsubst %,build/fuzz/%.o,$(foreach r,$(FUZZED),$(filter-out core/assets/%.S,$(call src_of,$(r))))) \
  $(SANOUT)/libassets.a
	$(call say,LD,$@) clang -fsanitize=fuzzer $(SANLINK) -o $@ $^ -L$(SANROOT)/lib $(LIBS) -lm
TARGET  ?= $(FUZZ:tests/fuzz/fuzz_%.c=%)
fuzz: $(TARGET:%=build/fuzz/fuzz_%)
	@tests/fuzz/run.sh $(TARGET)

# tests/golden/README says what a case is. `build/san/tests/golden/golden FOLDER...` runs others.
GOLDEN  := $(patsubst %.c,$(SANOUT)/%.c.o,$(wildcard tests/golden/*.c))
golden: $(SANOUT)/tests/golden/golden
	@tests/run.sh golden $<
$(SANOUT)/tests/golden/golden: $(GOLDEN) $(foreach r,plugins trainer api assets base,$(SANOUT)/lib$(r).a)
	$(call say,LD,$@) clang $(SANLINK) -o $@ $^ -L$(SANROOT)/lib $(LIBS) -lm

# What reads Parquet, compared with pyarrow: under ASan; and as released, for bench.
cache: kftrainer $(SANOUT)/tests/cache/dump
	@tests/setup.sh cache
	@tests/run.sh cache $(wildcard tests/cache/test_*)
$(SANOUT)/tests/cache/dump: $(SANOUT)/tests/cache/dump.c.o $(foreach r,cache $(NEEDS_cache),$(SANOUT)/lib$(r).a)
	$(call say,LD,$@) clang $(SANLINK) -o $@ $^ -L$(SANROOT)/lib $(LIBS) -lm
$(OUT)/tests/cache/dump: $(OUT)/tests/cache/dump.c.o $(foreach r,cache $(NEEDS_cache),$(patsubst %,$(OUT)/%.o,$(call src_of,$(r))))
	$(call say,LD,$@) $(SYSROOT)/bin/musl-gcc $(CFLAGS) -o $@ $(SYSROOT)/lib/*.o $^ -L$(SYSROOT)/lib $(LIBS) $(LINK)

# tests/gpu/README says what stands in for a GPU.
gpu: kftrainer $(SANOUT)/kftrainer
	@tests/setup.sh gpu
	@LANES=$${LANES:-2} tests/run.sh gpu $(wildcard tests/gpu/test_*)
# tests/ui/browser.py drives Chromium. Screenshots: build/ui.
ui: kftrainer
	@tests/setup.sh ui
	@LANES=$${LANES:-2} tests/run.sh ui $(wildcard tests/ui/test_*)
local: kftrainer
	@LANES=$${LANES:-2} tests/run.sh local $(call ordered,local,sdk.sh torch.sh convert.sh progress.sh,)
store: kftrainer build/kftrainer-shifted
	@tests/setup.sh store
	@tests/run.sh store $(wildcard tests/store/test_*)
# mpi-short: each implementation with each transport, and each fault with one of them; all of it in soak.
mpi-short: export SHORT = 1
mpi mpi-short: kftrainer
	@tests/setup.sh mpi
	@LANES=$${LANES:-2} tests/run.sh $@ $(wildcard tests/mpi/test_*)
# SHARED: those that begin with cluster_shared, or with a scene that does (tests/cluster/lib.sh).
SHARED   = $(patsubst tests/cluster/test_%,%,$(shell grep -lE '^(cluster_shared|scene [a-z]+)$$' tests/cluster/test_*.sh))
cluster: kftrainer
	@tests/setup.sh cluster
	@LANES=$${LANES:-2} tests/shared.sh cluster $(call ordered,cluster,gangs.sh multikueue.sh queue.sh,why.sh $(filter-out why.sh,$(SHARED)))
# kueue and cache leave a lane's cluster to nobody: last.
e2e: kftrainer
	@[ "$$(id -u)" != 0 ] || tests/setup.sh e2e
	@LANES=$${LANES:-2} tests/shared.sh e2e $(call ordered,e2e,node.sh sdk.sh initialize.sh mpi.sh why.sh,kueue.sh cache.sh)
build/kftrainer-shifted: $(SRC:%=$(OUT)/%.o) $(OUT)/tests/cluster/shifted.c.o
	$(call say,LD,$@) $(SYSROOT)/bin/musl-gcc $(CFLAGS) -o $@ $(SYSROOT)/lib/*.o $^ -L$(SYSROOT)/lib $(LIBS) \
	  $(LINK) -Wl,--wrap=clock_gettime,--wrap=gettimeofday,--wrap=time
# All write docs/figures.md and README's table; ROWS="mpi store": only those subjects (tests/bench/figures.py), which write nothing.
bench: kftrainer $(OUT)/tests/cache/dump
	@tests/setup.sh bench
	@tests/bench/figures.py ./kftrainer $(OUT)/tests/cache/dump $(ROWS)
# soak_store.sh is here, not in `store`, for a file of 2.2 GB takes its time: to S3 and back.
soak: kftrainer $(SANOUT)/kftrainer
	@tests/setup.sh cluster
	@tests/setup.sh mpi
	@for t in $(wildcard tests/soak/soak_*); do echo "# $$t"; ./$$t || status=1; done; exit $${status:-0}

style:
	@tests/lint/style.sh $(OURS)

# What the build leaves: ./kftrainer itself, the same bytes elsewhere, another machine's compiler.
build: kftrainer $(OUT)/test_fastmem $(SANOUT)/test_cjson
	@tests/run.sh build $(filter-out %/test_repro.sh,$(wildcard tests/build/test_*.sh)) $(filter %/test_%,$^)
repro: kftrainer
	@tests/run.sh repro tests/build/test_repro.sh
$(OUT)/test_fastmem: $(OUT)/tests/build/test_fastmem.c.o
	$(call say,LD,$@) $(SYSROOT)/bin/musl-gcc -static-pie -o $@ $< $(SYSROOT)/lib/fastmem.o
$(SANOUT)/test_cjson: $(SANOUT)/tests/build/test_cjson.c.o
	$(call say,LD,$@) clang $(SANLINK) -o $@ $< -L$(SANROOT)/lib -lcmocka -lcjson
# tests/arm64/README says what runs of the program for 64-bit Arm, under qemu. ALL=1: all unit tests.
cross:
	@$(if $(shell command -v aarch64-linux-gnu-gcc),nice $(MAKE) --no-print-directory arm64,echo "skip cross: aarch64-linux-gnu-gcc is not installed" | tee -a $${RESULTS:-/dev/null})
ARMUNIT  = $(patsubst %.c,$(AOUT)/%,$(if $(ALL),$(filter-out $(ASKS_SAN) $(STARTS_JOBS) $(NO_MEMORY),$(wildcard tests/unit/$(ROOM)/test_*.c)),$(addprefix tests/unit/,$(ARMED:%=%.c))))
NO_MEMORY   := tests/unit/base/test_metrics.c
STARTS_JOBS := tests/unit/kubelet/% tests/unit/local/% tests/unit/machine/% tests/unit/client/test_logs_lines.c
ARMED   := arrow/test_encodings arrow/test_lz4 arrow/test_predicate arrow/test_project base/test_hash base/test_json base/test_large \
           base/test_log base/test_protobuf base/test_str base/test_yaml cache/test_table cloud/test_sigv4 \
           crypto/test_crc crypto/test_crypto crypto/test_digest crypto/test_jwt crypto/test_psk crypto/test_x509 \
           gpu/test_gpu api/test_quantity kube/test_workqueue mpi/test_frame net/test_tls pack/test_pack
ARMCLI  := tests/cli/test_basics.sh tests/cli/test_options.sh tests/cli/test_submit.sh
arm64: kftrainer $(AOUT)/kftrainer $(AOUT)/tests/golden/golden $(ARMUNIT) $(call worlds,$(AOUT)) $(call worlds,$(OUT))
	@LANES=$${LANES:-2} LIMIT=400 tests/arm64/qemu.py tests/run.sh cross $(wildcard tests/arm64/test_*) $(AOUT)/tests/golden/golden $(ARMCLI) $(ARMUNIT)
$(AOUT)/tests/golden/golden: $(patsubst %,$(AOUT)/%.o,$(wildcard tests/golden/*.c) $(foreach r,plugins trainer api assets base,$(call src_of,$(r))))
	$(call say,LD,$@) $(call link,$(CROSSROOT))

# ---- for those who work on it, and for those who hand it on --------------------------------------
OURS     = $(filter %.c,$(SRC)) $(HDR) $(HELPER) $(PRELOADED) $(wildcard tests/*/*.[ch] tests/unit/*/*.[ch])
format:
	clang-format-14 -i $(if $(filter-out *,$(ROOM)),$(filter $(call dir_of,$(ROOM))/% tests/unit/$(ROOM)/%,$(OURS)),$(OURS))
COMPDB  ?= compile_commands.json
compdb:
	@args=$$(printf '"%s",' $(subst ",\",$(SAN))); for f in $(filter %.c,$(OURS)); do \
	  printf '{"directory":"%s","file":"%s","arguments":["clang",%s"-c","%s"]}\n' \
	    '$(CURDIR)' "$$f" "$$args" "$$f"; done | sed '1s/^/[/; $$!s/$$/,/; $$s/$$/]/' > $(COMPDB)
DIST    ?= .
dist:
	@mkdir -p $(DIST)
	git -c tar.umask=0022 archive --prefix=kftrainer-$(VERSION)/ HEAD | gzip -9n > $(DIST)/kftrainer-$(VERSION).tar.gz
image: kftrainer
	@vendor/image.py $< $(VERSION) build/kftrainer-image.tar
	@vendor/sbom.py $< $(VERSION) $(SYSROOT) build/kftrainer-image.spdx.json
sources:
	@mkdir -p $(DIST)
	@vendor/sources.sh $(VERSION) $(DIST)/kftrainer-$(VERSION)-sources.tar
release:
	@tests/setup.sh release
	@vendor/release.sh build/release
chart: kftrainer
	@vendor/chart.py $< $(VERSION) build/kftrainer-$(VERSION).tgz
PREFIX  ?= /usr/local
share    = $(DESTDIR)$(PREFIX)/share
install: kftrainer
	install -D -m 755 kftrainer $(DESTDIR)$(PREFIX)/bin/kftrainer
	ln -sf kftrainer $(DESTDIR)$(PREFIX)/bin/kubectl-trainer
	install -D -m 644 kftrainer.1 $(share)/man/man1/kftrainer.1
	install -D -m 644 build/licenses.txt $(share)/doc/kftrainer/LICENSES
	./kftrainer completion bash | install -D -m 644 /dev/stdin $(share)/bash-completion/completions/kftrainer
	./kftrainer completion zsh | install -D -m 644 /dev/stdin $(share)/zsh/site-functions/_kftrainer
	./kftrainer completion fish | install -D -m 644 /dev/stdin $(share)/fish/vendor_completions.d/kftrainer.fish
help:
	@sed -n '3,/^$$/s/^# *//p' Makefile
clean:
	rm -rf build kftrainer compile_commands.json

-include $(foreach o,$(OUT) $(SANOUT) build/fuzz $(AOUT),$(patsubst %,$(o)/%.d,$(SRC) $(FUZZ) \
  $(wildcard tests/unit/*.c tests/unit/*/*.c tests/build/*.c tests/golden/*.c tests/cache/*.c tests/sim/*.c)))
