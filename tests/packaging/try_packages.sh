#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes the Debian packages and tries them on a minimal Debian in a folder: installs the program,
# checks its options, runs a task, and removes it without a trace but the tasks. Then starts the
# service by systemd, where that can run in a container.
#
#   try_packages.sh SOURCE_DIR
#
# Needs root, mmdebstrap and the network for Debian's packages; ends with 77 where it cannot run.
set -euo pipefail

source_dir=$1
skip() {
    echo "not tried: $*"
    exit 77
}
((EUID == 0)) || skip "only root can make another root folder"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"

(cd "$source_dir" && ./dev package --yes)
packages=$source_dir/build/package
machine=$(mktemp -d)
trap 'rm -rf --one-file-system "$machine"' EXIT

# on_machine [unshare OPTION...] <SCRIPT: runs it there, with processes of its own.
on_machine() {
    unshare --mount --pid --fork "$@" chroot "$machine" /usr/bin/env -i \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive bash -euo pipefail -c "
            mount -t proc proc /proc
            $(cat)"
}

echo "== a minimal Debian"
mmdebstrap --quiet --variant=minbase --include=ca-certificates,iproute2 bookworm "$machine"
cp /etc/resolv.conf "$machine/etc/"
cp -r /etc/apt/apt.conf.d/. "$machine/etc/apt/apt.conf.d/"
cp "$packages"/weir_*.deb "$machine/weir.deb"

echo "== install"
on_machine <<'SCRIPT'
apt-get update -qq
apt-get install -qq -y --no-install-recommends /weir.deb >/install.log 2>&1 ||
    { cat /install.log; exit 1; }
getent passwd weir
[[ $(stat -c '%U %a' /var/lib/weir) == "weir 750" ]]
SCRIPT

echo "== check, run a task"
on_machine --net <<'SCRIPT'
ip link set lo up
mount -t tmpfs -o mode=1777 tmpfs /tmp  # its own, as systemd gives the service one
as_weir="setpriv --reuid weir --regid weir --clear-groups"
cd /var/lib/weir
$as_weir weir serve --check --config /etc/weir.toml
$as_weir weir serve --config /etc/weir.toml &
service=$!
for _ in $(seq 50); do weir status >/dev/null 2>&1 && break; sleep 0.2; done
weir submit --wait sleep '{"seconds": 0.1}'
kill "$service"
wait "$service"
[[ -s tasks.db ]]
SCRIPT

echo "== start it by systemd"
cat >"$machine/usr/local/bin/try_service" <<'SCRIPT'
#!/bin/bash
for _ in $(seq 50); do weir status >/dev/null 2>&1 && break; sleep 0.2; done
{
    weir submit --wait sleep '{"seconds": 0.1}' && systemctl is-active weir &&
        systemd-analyze verify --man=no weir.service && systemctl stop weir &&
        [[ $(systemctl show -P Result weir) == success ]] && echo "the service works"
    journalctl --no-pager -u weir
} >/try_service.log 2>&1
systemctl poweroff
SCRIPT
chmod +x "$machine/usr/local/bin/try_service"
cat >"$machine/etc/systemd/system/try.service" <<'UNIT'
[Unit]
After=weir.service
[Service]
ExecStart=/usr/local/bin/try_service
UNIT
wants=$machine/etc/systemd/system/multi-user.target.wants
ln -s ../try.service "$wants/try.service"
if command -v systemd-nspawn >/dev/null; then
    timeout 120 systemd-nspawn --quiet --directory="$machine" --boot --private-network \
        --register=no --keep-unit >"$machine/boot.log" 2>&1 || true
    if [[ -e $machine/try_service.log ]]; then
        cat "$machine/try_service.log"
        grep -q "^the service works" "$machine/try_service.log"
    else
        echo "not tried: systemd does not start in a container here"
    fi
else
    echo "not tried: systemd-nspawn is not installed"
fi
rm "$wants/try.service" "$machine/etc/systemd/system/try.service" \
    "$machine/usr/local/bin/try_service"

echo "== remove, purge"
on_machine <<'SCRIPT'
traces() {
    find / -xdev \( -path /proc -o -path /weir.deb \) -prune -o -name '*weir*' -print
    getent passwd weir || true
}
apt-get purge -qq -y weir >/dev/null 2>/dev/null
echo "left with tasks: $(traces | tr '\n' ' ')"
[[ $(traces | grep -v /var/lib/weir) == "" ]]

rm -r /var/lib/weir
dpkg --install /weir.deb >/dev/null 2>&1
dpkg --purge weir >/dev/null 2>&1
echo "left without tasks: $(traces)"
[[ $(traces) == "" ]]
SCRIPT
echo "the packages work"
