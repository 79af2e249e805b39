# PostgreSQL with ckptflush preloaded.
#
#   docker build --build-arg PG_MAJOR=17 -t postgres-ckptflush:17 .
#   docker run -e POSTGRES_PASSWORD=... --shm-size=256m postgres-ckptflush:17
#
# The stats segment is in /dev/shm beside PostgreSQL's own shared memory: the 64 MB that Docker
# gives a container by itself are enough for the default 100 connections, more is better.
ARG PG_MAJOR=17

FROM postgres:${PG_MAJOR}-bookworm AS build
ARG PG_MAJOR
RUN apt-get update && apt-get install -y --no-install-recommends \
        build-essential ca-certificates curl libclang-dev libpq-dev pkg-config \
        postgresql-server-dev-${PG_MAJOR}
WORKDIR /src
COPY rust-toolchain.toml .
RUN curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --no-modify-path \
        --profile minimal --default-toolchain none \
    && /root/.cargo/bin/rustup toolchain install
ENV PATH=/root/.cargo/bin:$PATH
COPY . .
RUN make install DESTDIR=/out PG_CONFIG=/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config

FROM postgres:${PG_MAJOR}-bookworm
COPY --from=build /out/ /
CMD ["postgres", "-c", "shared_preload_libraries=ckptflush"]
