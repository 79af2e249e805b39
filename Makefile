# PGXS front door of ckptflush.
#
#   make                   build the library for the server of pg_config, and the viewer
#   make install           install library, control file, SQL and viewer (DESTDIR is honoured)
#   make installcheck      pg_regress and TAP tests with the installed library (not as root)
#   make dist              source archives of the last commit, in build/dist: the same bytes each time
#   make clean             remove what was built here; distclean removes cargo's target too
#
# Variables: PG_CONFIG (which server), CARGO, CARGO_TARGET_DIR, PROVE_FLAGS; VIEWER=no leaves the
# viewer out.
#
# The library is Rust: cargo builds it, with pgrx's bindings made from the same pg_config.
# Each server has its own directory below build/, so that one checkout serves several.
# Not for two makes at once with one target directory: both builds have the same name there.

EXTENSION = ckptflush
DATA = $(sort $(wildcard ckptflush--*.sql))

# Debian's server installs neither use nor need bitcode of a Rust library.
override with_llvm = no

REGRESS = $(basename $(notdir $(sort $(wildcard sql/*.sql))))
REGRESS_PREP = not-root build
# A server of its own, with the library preloaded. Not below tmp_check: the TAP step deletes that.
REGRESS_OPTS = --temp-instance=build/regress --temp-config=sql/ckptflush.conf \
	--encoding=UTF8 --no-locale
TAP_TESTS = 1
EXTRA_CLEAN = build

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq ($(wildcard $(PGXS)),)
$(error no PostgreSQL development files: "$(PG_CONFIG) --pgxs" gave "$(PGXS)"; install postgresql-server-dev-15 or the like, or set PG_CONFIG)
endif
include $(PGXS)

ifeq ($(filter 15 16 17 18,$(MAJORVERSION)),)
$(error ckptflush supports PostgreSQL 15 to 18, and $(PG_CONFIG) is of $(MAJORVERSION))
endif

CARGO ?= cargo
# The pg_config of that server itself, not a wrapper that may choose another one tomorrow.
server_pg_config := $(or $(wildcard $(bindir)/pg_config),$(shell command -v $(PG_CONFIG)))
server_id := $(VERSION_NUM)-$(firstword $(shell echo '$(server_pg_config)' | cksum))
module := build/$(server_id)/ckptflush$(DLSUFFIX)
target_dir := $(or $(CARGO_TARGET_DIR),target)
installed_module := $(DESTDIR)$(pkglibdir)/ckptflush$(DLSUFFIX)
# The viewer knows no server: one for all.
VIEWER ?= yes
viewer := $(if $(filter yes,$(VIEWER)),build/ckpttop)
installed_viewer := $(DESTDIR)$(bindir)/ckpttop
sources := $(shell find Cargo.toml Cargo.lock rust-toolchain.toml build.rs .cargo src pgshim crates \
	-type f ! -path '*/benches/*' ! -path '*/tests/*' 2>/dev/null)

all: $(module) $(viewer)

$(module): $(sources)
	@command -v $(CARGO) >/dev/null || { echo "cargo not found: install the Rust toolchain of rust-toolchain.toml, or name it with CARGO=" >&2; exit 1; }
	PGRX_PG_CONFIG_PATH='$(server_pg_config)' $(CARGO) build --release --locked --lib \
		--target-dir '$(target_dir)' --package ckptflush \
		--no-default-features --features pg$(MAJORVERSION)
	$(MKDIR_P) $(@D)
	cp '$(target_dir)/release/libckptflush$(DLSUFFIX)' $@.new
	mv -f $@.new $@

build/ckpttop: $(sources)
	$(CARGO) build --profile viewer --locked --bin ckpttop --target-dir '$(target_dir)' --package ckpttop
	$(MKDIR_P) $(@D)
	cp '$(target_dir)/viewer/ckpttop' $@.new
	mv -f $@.new $@

# A new file under the old name: a running server has the old one mapped, and would crash
# if it were overwritten in place.
install: install-module $(if $(viewer),install-viewer)
install-module: $(module)
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) $(module) '$(installed_module).new'
	mv -f '$(installed_module).new' '$(installed_module)'

install-viewer: $(viewer)
	$(MKDIR_P) '$(DESTDIR)$(bindir)'
	$(INSTALL_PROGRAM) $(viewer) '$(installed_viewer).new'
	mv -f '$(installed_viewer).new' '$(installed_viewer)'

uninstall: uninstall-module uninstall-viewer
uninstall-module:
	rm -f '$(installed_module)'
uninstall-viewer:
	rm -f '$(installed_viewer)'

not-root:
	@[ "$$(id -u)" != 0 ] || { echo 'PostgreSQL does not run as root, so neither does "make installcheck": run it as another user, or run ./check, which uses an unprivileged account' >&2; exit 1; }

build:
	$(MKDIR_P) $@

dist:
	ci/dist

distclean: remove-target
remove-target:
	rm -rf target

.PHONY: dist install-module install-viewer uninstall-module uninstall-viewer not-root remove-target
