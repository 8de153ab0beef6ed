#!/bin/sh
# Runs a command with a real MySQL server to test on, for machines whose own packages offer only MariaDB.
#
#   tests/support/mysql_chroot.sh COMMAND [ARGUMENT...]
#
# The command finds the server in BROKER_TEST_DATABASE_URL, and the same mysqld first on PATH for tests that
# start, restart and kill servers of their own. MySQL comes from Debian's package "mysql-server-core", put once
# into the folder BROKER_MYSQL_ROOT (default: var/mysql; remove it to get a newer one). BROKER_DEBIAN_MIRROR
# names a package mirror other than the one this system uses. Needs root, and Debian or a system made from it.
set -eu

root=${BROKER_MYSQL_ROOT:-var/mysql}
python=.venv/bin/python
server=
home=

say() {
    echo "mysql_chroot: $*" >&2
}

system_mirror() {
    # shellcheck disable=SC2016 # apt-get puts in what it is
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | grep -v security | head -n 1
}

build() {
    [ ! -x "$root/usr/sbin/mysqld" ] || return 0
    command -v debootstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y debootstrap >&2
    say "putting MySQL into $root, which takes about a minute"
    mirror=${BROKER_DEBIAN_MIRROR:-$(system_mirror)}
    rm -rf "$root.new"
    mkdir -p "$root.new"
    # shellcheck disable=SC2086 # without a mirror, debootstrap takes its own
    debootstrap --variant=minbase --include=mysql-server-core sid "$root.new" $mirror >"$root.log" 2>&1 ||
        { tail -n 20 "$root.log" >&2; exit 1; }
    rm -rf "$root"
    mv "$root.new" "$root"
}

# A mysqld that runs outside of the chroot, with the chroot's own libraries.
write_wrapper() {
    loader=$(find "$root/usr/lib64" "$root/usr/lib" -name 'ld-linux*.so.*' 2>/dev/null | head -n 1)
    libraries=$root/usr/lib/$(uname -m)-linux-gnu
    mkdir -p "$root/outside"
    cat >"$root/outside/mysqld" <<END
#!/bin/sh
exec "$loader" --library-path "$libraries" "$root/usr/sbin/mysqld" "\$@" \\
    --basedir="$root/usr" --lc-messages-dir="$root/usr/share/mysql"
END
    chmod 755 "$root/outside/mysqld"
}

# In the chroot, without privileges, and ended by the kernel should this script be killed.
mysqld() {
    exec chroot "$root" setpriv --reuid=nobody --regid=nogroup --clear-groups --pdeathsig=KILL \
        /usr/sbin/mysqld --no-defaults --datadir="$inside/data" --log-error="$inside/error.log" \
        --secure-file-priv=NULL --mysqlx=OFF "$@"
}

prepare() {
    home=$(mktemp -d "$root/tmp/broker.XXXXXX")
    inside=/tmp/$(basename "$home")
    port=$("$python" -c 'from tests.support.private_server import free_port; print(free_port())')
    password=$("$python" -c 'import secrets; print(secrets.token_hex(16))')
    cat >"$home/init.sql" <<END
CREATE USER IF NOT EXISTS 'broker'@'127.0.0.1' IDENTIFIED BY '$password';
GRANT ALL ON *.* TO 'broker'@'127.0.0.1' WITH GRANT OPTION;
END
    chown -R "$(chroot "$root" id -u nobody):$(chroot "$root" id -g nobody)" "$home"
}

start() {
    (mysqld --initialize-insecure) || fail
    (mysqld --bind-address=127.0.0.1 --port="$port" --socket="$inside/socket" --pid-file="$inside/pid" \
        --init-file="$inside/init.sql" --skip-name-resolve --innodb-buffer-pool-size=256M \
        --max-connections=400 --innodb-flush-log-at-trx-commit=0 --sync-binlog=0 --innodb-doublewrite=0) &
    server=$!
    tries=0
    until grep -qs "ready for connections" "$home/error.log"; do
        tries=$((tries + 1))
        if [ "$tries" -ge 600 ] || ! kill -0 "$server" 2>/dev/null; then fail; fi
        sleep 0.1
    done
}

fail() {
    say "MySQL did not start:"
    tail -n 20 "$home/error.log" >&2
    exit 1
}

# shellcheck disable=SC2317 # the trap calls it
stop() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" || true
    fi
    [ -z "$home" ] || rm -rf "$home"
}

[ "$#" -gt 0 ] || { say "say which command to run"; exit 2; }
[ "$(id -u)" -eq 0 ] || { say "this needs root: it makes a chroot"; exit 2; }
cd "$(dirname "$0")/../.."
mkdir -p "$(dirname "$root")"
root=$(realpath -m "$root")
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
build
write_wrapper
prepare
start
code=0
BROKER_TEST_DATABASE_URL="mysql+pymysql://broker:$password@127.0.0.1:$port/" PATH="$root/outside:$PATH" "$@" || code=$?
exit "$code"
