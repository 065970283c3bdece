# SPDX-License-Identifier: MIT
#
# Finds missing packages, and installs them after confirmation.

# missing_packages LIST...: names the packages of tools/dev/packages/LIST.txt that are not
# installed.
missing_packages() {
    local list package probe
    for list in "$@"; do
        while read -r package probe; do
            [[ -z $package || $package == \#* ]] && continue
            is_installed "$probe" || echo "$package"
        done <"$root/tools/dev/packages/$list.txt"
    done | sort -u
}

# is_installed PROBE: a file or a pattern of files when it starts with a slash, else a command.
is_installed() {
    if [[ $1 == /* ]]; then
        compgen -G "$1" >/dev/null
    else
        command -v "$1" >/dev/null
    fi
}

# ensure_packages LIST...: returns when all packages on the lists are installed, or ends the script.
ensure_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]} == 0)) && return
    say "Not installed yet: ${missing[*]}"
    command -v apt-get >/dev/null ||
        die "there is no apt-get here: install what these Debian packages bring: ${missing[*]}"
    confirm "Install with apt-get?" || die "nothing installed; missing: ${missing[*]}"
    install_packages "${missing[@]}"
}

# confirm QUESTION: yes with --yes and in CI; prompts on a terminal; otherwise no.
confirm() {
    if [[ $assume_yes == 1 || ${CI:-} == true ]]; then
        return
    fi
    if [[ ! -t 0 ]]; then
        say "Standard input is not a terminal: add --yes to install."
        return 1
    fi
    local answer
    read -r -p "$1 [Y/n] " answer
    [[ -z $answer || $answer == [yY]* ]]
}

# install_packages PACKAGE...: apt-get's output goes to build/packages.log.
install_packages() {
    local as_root=() log=$root/build/packages.log
    if [[ $(id -u) != 0 ]]; then
        command -v sudo >/dev/null || die_without_root "$@"
        as_root=(sudo)
    fi
    mkdir -p "$root/build"
    : >"$log"
    # Another apt-get may hold the lock for a while: wait for it.
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get
        -q -o DPkg::Lock::Timeout=600)
    say "  apt-get update and install; the output goes to build/packages.log"
    "${apt[@]}" update 2>&1 | show_install "$log" || die_of_apt "$log" "$@"
    "${apt[@]}" install -y --no-install-recommends "$@" 2>&1 | show_install "$log" ||
        die_of_apt "$log" "$@"
}

die_without_root() {
    die "installing needs root, and sudo does not work here: run as root 'apt-get install $*'," \
        "then this command again."
}

# die_of_apt LOG PACKAGE...: says in one sentence why apt-get failed.
die_of_apt() {
    local log=$1 lost unreachable='Temporary failure resolving|Could not (resolve|connect)'
    unreachable+='|Failed to fetch|Network is unreachable|No route to host'
    shift
    if grep -Eq '^sudo: |sudoers|not allowed to execute' "$log"; then
        die_without_root "$@"
    elif grep -Eq 'No space left on device|enough free space' "$log"; then
        die "the disk is full: make room for the packages, then run this command again."
    elif grep -Eq "$unreachable" "$log"; then
        die "no network: apt-get cannot reach the package sources; connect, or install these" \
            "packages by other means, then run this command again: $*"
    elif lost=$(grep -Eo '(Unable to locate package|Package .* has no installation) .*' "$log"); then
        tail -n 5 "$log" >&2
        die "the package sources do not have all packages (${lost%%$'\n'*}): Debian 12 has them."
    fi
    tail -n 20 "$log" >&2
    die "apt-get failed; its whole output is in build/packages.log."
}

command_install_deps() {
    local lists=()
    case ${1:-test} in
        run) lists=(run) ;;
        cluster) lists=(run cluster) ;;
        test) lists=(run test) ;;
        ci) lists=(run test page clang format docs package package-check) ;;
        soak) lists=(run test page soak) ;;
        bench) lists=(run bench) ;;
        docs) lists=(docs) ;;
        package) lists=(run package) ;;
        newest) lists=(run test newest) ;;
        all)
            lists=(run cluster test page soak clang format tidy bench docs package package-check newest)
            ;;
        *)
            die "install-deps knows: run, cluster, test, ci, soak, bench, docs, package, newest, all;" \
                "not '$1'."
            ;;
    esac
    ensure_packages "${lists[@]}"
    say "Everything for '${1:-test}' is installed."
}
