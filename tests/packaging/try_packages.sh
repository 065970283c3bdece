#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes the Debian packages and tries them on a minimal Debian in a folder: installs the program,
# checks its options, runs a task, starts the service by systemd, and removes it without a trace but
# the tasks. Then installs the library and builds a program with it.
#
#   try_packages.sh SOURCE_DIR
#
# Ends with 77, for a skipped test, also where all but systemd could be tried.
set -euo pipefail
# shellcheck source=/dev/null
source "$(dirname "${BASH_SOURCE[0]}")/../support/machine.sh"

source_dir=$1
make_machine ca-certificates,iproute2
(cd "$source_dir" && ./dev package --yes)
packages=$source_dir/build/package
cp "$packages"/weir_*.deb "$machine/weir.deb"
cp "$packages"/libweir-dev_*.deb "$machine/libweir-dev.deb"

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
        systemctl reload weir && systemctl is-active weir && systemd-analyze verify --man=no weir.service &&
        systemctl stop weir &&
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
has_booted=0
if command -v systemd-nspawn >/dev/null; then
    timeout 120 systemd-nspawn --quiet --directory="$machine" --boot --private-network \
        --register=no --keep-unit >"$machine/boot.log" 2>&1 || true
    if [[ -e $machine/try_service.log ]]; then
        cat "$machine/try_service.log"
        grep -q "^the service works" "$machine/try_service.log"
        has_booted=1
    fi
fi
rm "$wants/try.service" "$machine/etc/systemd/system/try.service" \
    "$machine/usr/local/bin/try_service"

echo "== remove, purge"
on_machine <<'SCRIPT'
traces() {
    find / -xdev \( -path /proc -o -path '/*weir*.deb' \) -prune -o -name '*weir*' -print
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

echo "== build with the library"
mkdir "$machine/greeter"
cp "$source_dir/examples/service_program.cpp" "$machine/greeter/main.cpp"
cat >"$machine/greeter/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(greeter LANGUAGES CXX)
find_package(weir REQUIRED COMPONENTS program)
add_executable(greeter main.cpp)
target_link_libraries(greeter PRIVATE weir::program)
CMAKE
on_machine <<'SCRIPT'
apt-get install -qq -y --no-install-recommends g++ cmake make /libweir-dev.deb >/install.log 2>&1 ||
    { cat /install.log; exit 1; }
{ cmake -S /greeter -B /greeter/build && cmake --build /greeter/build; } >/build.log 2>&1 ||
    { cat /build.log; exit 1; }
[[ $(/greeter/build/greeter --version) == "greeter 1.0" ]]
SCRIPT
echo "the packages work"
((has_booted)) || skip "systemd does not start in a container here"
