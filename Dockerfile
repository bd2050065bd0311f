# A static program on an empty base, for an unprivileged user.
#
# A release gives its own programs in place of the first stage, so that nothing is emulated for other architectures:
#   docker buildx build --build-context build=DIR .    with DIR/amd64/restante, DIR/arm64/restante and DIR/data/
FROM rust:1.95-alpine AS build
ARG TARGETARCH
RUN apk add --no-cache build-base
WORKDIR /build
COPY . .
RUN cargo build --profile dist --locked --bin restante \
    && mkdir -p "/$TARGETARCH" /data \
    && cp target/dist/restante "/$TARGETARCH/restante"

FROM scratch
ARG TARGETARCH
ARG VERSION=0.1.0
ARG SOURCE=
LABEL org.opencontainers.image.title="Restante" \
      org.opencontainers.image.description="Temporary inboxes for automated end-to-end tests" \
      org.opencontainers.image.licenses="Apache-2.0 OR MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.source="$SOURCE"
COPY --from=build /${TARGETARCH}/restante /restante
# A new volume gets the owner of this directory.
COPY --from=build --chown=10001:10001 /data /data
# There is no /tmp: SQLite puts its temporary files into the working directory.
WORKDIR /data
USER 10001:10001
ENV RESTANTE_HTTP_LISTEN=0.0.0.0:8025 \
    RESTANTE_SMTP_LISTEN=0.0.0.0:1025 \
    RESTANTE_SMTP_PLAINTEXT_AUTH=true \
    RESTANTE_DATA_DIR=/data
VOLUME /data
EXPOSE 8025 1025
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["/restante", "health"]
ENTRYPOINT ["/restante"]
CMD ["serve"]
