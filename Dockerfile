# Builds Restante and puts it into a small image that runs as an unprivileged user.
FROM rust:1.95-bookworm AS build
WORKDIR /build
COPY . .
RUN cargo build --profile dist --locked --bin restante \
    && mkdir /data

FROM debian:bookworm-slim
COPY --from=build /build/target/release/restante /usr/local/bin/restante
# A new volume gets the owner of this directory.
COPY --from=build --chown=10001:10001 /data /data
USER 10001:10001
ENV RESTANTE_HTTP_LISTEN=0.0.0.0:8025 \
    RESTANTE_SMTP_LISTEN=0.0.0.0:1025 \
    RESTANTE_DATA_DIR=/data
VOLUME /data
EXPOSE 8025 1025
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["/usr/local/bin/restante", "health"]
ENTRYPOINT ["/usr/local/bin/restante"]
CMD ["serve"]
