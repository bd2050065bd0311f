# Builds Restante and puts it alone into an image without a shell, run by a user without rights.
FROM rust:1.95-bookworm AS build
WORKDIR /build
COPY Cargo.toml Cargo.lock ./
COPY src src
COPY benches benches
COPY docs docs
COPY README.md README.md
RUN cargo build --release --locked --bin restante \
    && mkdir /data

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /build/target/release/restante /usr/local/bin/restante
# A fresh volume takes over this directory's owner.
COPY --from=build --chown=nonroot:nonroot /data /data
ENV RESTANTE_HTTP_LISTEN=0.0.0.0:8025 \
    RESTANTE_SMTP_LISTEN=0.0.0.0:1025 \
    RESTANTE_DATA_DIR=/data
VOLUME /data
EXPOSE 8025 1025
ENTRYPOINT ["/usr/local/bin/restante"]
CMD ["serve"]
