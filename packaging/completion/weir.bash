# SPDX-License-Identifier: MIT
# Completion of weir for bash.

_weir_options() {
    case $1 in
        serve) echo --help --config --listen --port --database --workers --timeout --lease \
            --worker-lease --drain --keep-completed --keep-failed --keep-cancelled --max-queues --remote-kinds --max-body \
            --token-file --open-health --tls-certificate --tls-key --origin --name --allow-address --webhook-key-file --allow-command \
            --allow-arguments --binary-output --max-output --grace --host-rate --host-concurrency \
            --otlp-endpoint --otlp-sample \
            --schema --read-replica --migrate --integrity --log-format --log-level --access-log --check ;;
        crawl) echo --help --config --list --sitemap --state --schema --node --lease \
            --output --format --warc --mirror --graph --write-sitemap --scope --include --exclude --strip-param --depth --max-pages --max-pages-per-host \
            --max-pages-per-pattern --max-equal-bodies \
            --max-links-per-page --max-urls --concurrency --per-host --per-address --rate --delay --timeout \
            --max-time --max-body --attempts --drain --ignore-robots --check --baseline --accept \
            --header-file --ca-file --user-agent --contact --allow-address --progress --metrics \
            --fail-on \
            --require-complete --accept-changes --dry-run ;;
        submit) echo --help --config --server --token-file --ca-file --queue --priority --delay \
            --expires --timeout --attempts --key --unique-key --flow-key --secret --tag --on-success --on-failure --after \
            --after-failure --wait ;;
        work) echo --help --config --server --token-file --ca-file --concurrency --queue --name \
            --progress --max-output --grace --drain ;;
        status) echo --help --config --server --token-file --ca-file --json ;;
        watch) echo --help --config --server --token-file --ca-file --queue --plain ;;
        list) echo --help --config --server --token-file --ca-file --queue --state --status --kind --tag \
            --flow-key --from --to --limit --json ;;
        redrive) echo --help --config --server --token-file --ca-file --kind --tag --flow-key --from --to \
            --limit --json ;;
        cancel | retry | delete) echo --help --config --server --token-file --ca-file --queue --state \
            --status --kind --tag --flow-key --from --to --all --limit --dry-run --yes --json ;;
        change) echo --help --config --server --token-file --ca-file --priority --delay --at --expires \
            --payload --json ;;
        schedules) echo --help --config --server --token-file --ca-file --zone --queue --overlap --missed \
            --json ;;
        pause | resume) echo --help --config --server --token-file --ca-file --key --json ;;
        keys) echo --help --config --server --token-file --ca-file --set --limit --json ;;
        limit) echo --help --config --server --token-file --ca-file --key --max-running --rate --burst \
            --max-pending --key-max-running --key-rate --key-burst --json ;;
        enable) echo --help --config --server --token-file --ca-file --kind --json ;;
        show | queues | nodes | destinations | group)
            echo --help --config --server --token-file --ca-file --json ;;
        backup) echo --help --config --database --force --json ;;
        migrate) echo --help --config --to --database --schema --server --token-file --ca-file --check \
            --abort --json ;;
        ps) echo --help ;;
        *) echo --help --version --config ;;
    esac
}

# The queues of the service, if it answers.
_weir_queues() {
    "${COMP_WORDS[0]}" queues 2>/dev/null | cut -f 1
}

_weir() {
    local cur prev command='' word
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD - 1]}
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
            serve | crawl | submit | work | status | watch | list | show | cancel | retry | delete | \
                change | queues | keys | limit | pause | resume | redrive | schedules | group | \
                nodes | destinations | enable | backup | migrate | ps)
                command=$word
                break
                ;;
        esac
    done

    local words=''
    case $prev in
        --config | -c | --database | -d | --output | --list | --baseline | \
            --warc | --mirror | --graph | --write-sitemap | --header-file | --ca-file | --token-file | \
            --webhook-key-file)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
            ;;
        --scope) words='host domain prefix all' ;;
        --format) words='jsonl csv text json junit markdown' ;;
        --progress) [[ $command == crawl ]] && words='auto lines json none' ;;
        --fail-on) words='none failed' ;;
        --integrity) words='quick full none' ;;
        --log-format) words='text json' ;;
        --log-level) words='debug info warning error' ;;
        --state)
            if [[ $command == crawl ]]; then
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                return
            fi
            words='pending running completed failed cancelled'
            ;;
        --status)
            words='scheduled pending retrying running cancelling completed failed cancelled'
            ;;
        --overlap) words='queue skip replace' ;;
        --missed) words='run_latest skip' ;;
        --after-failure) words='cancel run hold' ;;
        --queue | -q) words=$(_weir_queues) ;;
        *)
            if [[ $cur == -* ]]; then
                words=$(_weir_options "$command")
            elif [[ -z $command ]]; then
                words='serve crawl submit work status watch list show cancel retry delete change queues
                    keys limit pause resume redrive schedules group nodes destinations enable backup migrate
                    ps'
            elif [[ $command == submit && $prev == submit ]]; then
                words='http crawl exec sleep echo'
            elif [[ $command == work && $prev == -- ]]; then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
                return
            elif [[ $command == group && $prev == group ]]; then
                words='create show add seal cancel'
            elif [[ $command == group ]]; then
                words=$("${COMP_WORDS[0]}" group 2>/dev/null | cut -f 1)
            elif [[ $command == schedules && $prev == schedules ]]; then
                words='add run pause resume remove'
            elif [[ $command == schedules ]]; then
                words=$("${COMP_WORDS[0]}" schedules 2>/dev/null | cut -f 1)
            elif [[ $command == pause || $command == resume || $command == redrive ||
                $command == keys || $command == limit ]]; then
                words=$(_weir_queues)
            elif [[ $command == backup || $command == migrate ]]; then
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                return
            elif [[ $command == ps ]]; then
                words=$(pgrep -x weir)
            fi
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _weir weir
