# SPDX-License-Identifier: MIT
#
# A minimal Debian in a folder, to try what users do on a machine that has nothing yet. What
# sources this needs root, mmdebstrap and the network for Debian's packages, and ends with 77, which
# ctest takes for a skipped test, where it cannot run.
set -euo pipefail

machine=''

skip() {
    echo "not tried: $*"
    exit 77
}

# make_machine PACKAGE,...: sets machine to the folder, which goes when the script ends.
make_machine() {
    ((EUID == 0)) || skip "only root can make another root folder"
    command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
    machine=$(mktemp -d)
    trap 'rm -rf --one-file-system "$machine"' EXIT
    echo "== a minimal Debian"
    mmdebstrap --quiet --variant=minbase --include="$1" bookworm "$machine"
    # It reaches the sources of packages as this machine does.
    cp /etc/resolv.conf "$machine/etc/"
    cp -r /etc/apt/apt.conf.d/. "$machine/etc/apt/apt.conf.d/"
    cp /etc/ssl/certs/ca-certificates.crt "$machine/etc/ssl/certs/"
}

# on_machine [unshare OPTION...] <SCRIPT: runs it there, with processes and mounts of its own.
on_machine() {
    local script
    script=$(cat)
    unshare --mount --pid --fork --mount-proc="$machine/proc" "$@" bash -euo pipefail -c '
        mount --rbind /dev "$0/dev"
        mount --rbind /sys "$0/sys"
        exec chroot "$0" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            DEBIAN_FRONTEND=noninteractive bash -euo pipefail -c "$1"' "$machine" "$script"
}
