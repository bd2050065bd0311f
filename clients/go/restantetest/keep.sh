# keep.sh DIRECTORY OWNER PROGRAM ARGUMENTS: runs a server until the process OWNER has ended, then removes DIRECTORY.
directory=$1 owner=$2
shift 2

is_running() {
    kill -0 "$owner" 2>/dev/null || return 1
    # On Linux, a process that has ended is a zombie until its parent has read its status.
    ! read -r _ _ state _ 2>/dev/null <"/proc/$owner/stat" || [ "$state" != Z ]
}

# The server stops when this ends, because that closes its standard input.
hold() {
    while is_running; do sleep 0.2; done
}

hold | {
    "$@" >"$directory/server.json" 2>"$directory/server.log"
    : >"$directory/ended"
}
rm -rf "$directory"
