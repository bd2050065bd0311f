#!/bin/sh
# Installs the restante binary from a release, after checking its SHA-256.
#
#   RESTANTE_VERSION   the version; by default the newest
#   RESTANTE_PREFIX    where bin/ and share/ are; by default ~/.local
#   RESTANTE_RELEASES  the address of the releases; set in released copies of this file
set -eu

releases=${RESTANTE_RELEASES:-@RELEASES@}
version=${RESTANTE_VERSION:-latest}
prefix=${RESTANTE_PREFIX:-$HOME/.local}

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

target_of_this_machine() {
    case $(uname -m) in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "there is no release for $(uname -m): build it with cargo" ;;
    esac
    case $(uname -s) in
        # Static: it runs with every C library.
        Linux) echo "$machine-unknown-linux-musl" ;;
        Darwin) echo "$machine-apple-darwin" ;;
        *) fail "there is no release for $(uname -s) that this script can install" ;;
    esac
}

fetch() {
    if command -v curl >/dev/null; then
        curl -fsSL --retry 3 -o "$2" "$1"
    elif command -v wget >/dev/null; then
        wget -q -O "$2" "$1"
    else
        fail "neither curl nor wget is installed"
    fi || fail "cannot fetch $1"
}

sha256_of() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1"
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1"
    else
        fail "neither sha256sum nor shasum is installed"
    fi | cut -d' ' -f1
}

check() {
    wanted=$(awk -v file="$1" '$2 == file { print $1 }' "$directory/SHA256SUMS")
    [ -n "$wanted" ] || fail "SHA256SUMS of this release does not list $1"
    actual=$(sha256_of "$directory/$1")
    [ "$actual" = "$wanted" ] || fail "the checksum of $1 is $actual, not $wanted: nothing was installed"
}

install_from() {
    mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
        "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
    # Renamed into place, because the file of a running program cannot be overwritten.
    cp "$1/restante" "$prefix/bin/restante.new"
    chmod 755 "$prefix/bin/restante.new"
    mv -f "$prefix/bin/restante.new" "$prefix/bin/restante"
    cp "$1"/man/*.1 "$prefix/share/man/man1/"
    cp "$1/completions/restante.bash" "$prefix/share/bash-completion/completions/restante"
    cp "$1/completions/_restante" "$prefix/share/zsh/site-functions/_restante"
    cp "$1/completions/restante.fish" "$prefix/share/fish/vendor_completions.d/restante.fish"
}

# All code is in functions, so that an incomplete download runs nothing.
main() {
    case $releases in
        *RELEASES@) fail "set RESTANTE_RELEASES to the address of the releases" ;;
    esac
    case $version in
        latest) from=$releases/latest/download ;;
        *) from=$releases/download/v${version#v} ;;
    esac
    target=$(target_of_this_machine)
    name=restante-$target
    directory=$(mktemp -d)
    trap 'rm -rf "$directory"' EXIT
    fetch "$from/SHA256SUMS" "$directory/SHA256SUMS"
    fetch "$from/$name.tar.gz" "$directory/$name.tar.gz"
    check "$name.tar.gz"
    tar -C "$directory" -xzf "$directory/$name.tar.gz"
    install_from "$directory/$name"
    echo "Installed $("$prefix/bin/restante" --version) as $prefix/bin/restante"
    case :$PATH: in
        *":$prefix/bin:"*) ;;
        *) echo "Add $prefix/bin to PATH." ;;
    esac
}

main
