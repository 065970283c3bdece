# SPDX-License-Identifier: MIT
# Completion of weir for fish.

set -l commands serve submit status watch ps
set -l serve '__fish_seen_subcommand_from serve'
set -l submit '__fish_seen_subcommand_from submit'
set -l status_ '__fish_seen_subcommand_from status'
set -l watch '__fish_seen_subcommand_from watch'
set -l remote '__fish_seen_subcommand_from submit status watch'

complete -c weir -f
complete -c weir -s h -l help -d 'Show the options'
complete -c weir -n "not __fish_seen_subcommand_from $commands" -l version -d 'Show the version'
complete -c weir -n 'not __fish_seen_subcommand_from ps' -s c -l config -rF -d 'Configuration file'

complete -c weir -n __fish_use_subcommand -a serve -d 'Run the task service'
complete -c weir -n __fish_use_subcommand -a submit -d 'Submit a task to the service'
complete -c weir -n __fish_use_subcommand -a status -d 'Show queues, or one task'
complete -c weir -n __fish_use_subcommand -a watch -d 'Show tasks live, as they change'
complete -c weir -n __fish_use_subcommand -a ps -d 'Show the tasks inside a running Weir program'

complete -c weir -n $serve -s l -l listen -x -d 'Address, with or without a port'
complete -c weir -n $serve -s p -l port -x -d 'Port; 0 is any free one'
complete -c weir -n $serve -s d -l database -rF -d 'File in which tasks are stored'
complete -c weir -n $serve -s w -l workers -x -d 'Tasks that run at the same time'
complete -c weir -n $serve -l timeout -x -d 'Time limit of a run, in seconds'
complete -c weir -n $serve -l lease -x -d 'Seconds without a heartbeat until takeover'
complete -c weir -n $serve -l drain -x -d 'Seconds that running tasks have on shutdown'
complete -c weir -n $serve -l keep-completed -x -d 'Hours that completed tasks are kept'
complete -c weir -n $serve -l keep-failed -x -d 'Hours that failed tasks are kept'
complete -c weir -n $serve -l keep-cancelled -x -d 'Hours that cancelled tasks are kept'
complete -c weir -n $serve -l max-queues -x -d 'Maximum number of queues'
complete -c weir -n $serve -l max-body -x -d 'Maximum size of a request body, in bytes'
complete -c weir -n $serve -l token-file -rF -d 'Tokens for the API, one per line'
complete -c weir -n $serve -l origin -x -d 'Allow pages of this origin'
complete -c weir -n $serve -l name -x -d 'Name of this machine in requests'
complete -c weir -n $serve -l allow-address -x -d 'Allow deliveries to this address'
complete -c weir -n $serve -l webhook-key-file -rF -d 'Keys that sign deliveries'
complete -c weir -n $serve -l allow-command -x -d 'Program that tasks may run'
complete -c weir -n $serve -l host-rate -x -d 'Deliveries per second to one host'
complete -c weir -n $serve -l host-concurrency -x -d 'Concurrent deliveries to one host'
complete -c weir -n $serve -l log-format -xa 'text json' -d 'Format of the log'
complete -c weir -n $serve -l log-level -xa 'debug info warning error' -d 'Least severe level'
complete -c weir -n $serve -l check -d 'Check the settings and the database'

complete -c weir -n $remote -s s -l server -x -d 'Address of the service'
complete -c weir -n $remote -l token-file -rF -d 'File with a token in its first line'

complete -c weir -n $submit -a 'http exec sleep echo' -d 'Kind of the task'
complete -c weir -n $submit -s q -l queue -x -d Queue
complete -c weir -n $submit -s p -l priority -x -d 'Higher runs first'
complete -c weir -n $submit -l delay -x -d 'Delay before it may run, in seconds'
complete -c weir -n $submit -l timeout -x -d 'Time limit of one run, in seconds'
complete -c weir -n $submit -l attempts -x -d 'Maximum number of attempts'
complete -c weir -n $submit -l key -x -d 'Idempotency key'
complete -c weir -n $submit -l flow-key -x -d 'Tasks with the same key share limits'
complete -c weir -n $submit -s t -l tag -x -d 'Tag to find it by'
complete -c weir -n $submit -s W -l wait -d 'Wait for its end and show it'

complete -c weir -n $status_ -l json -d 'Print JSON'

complete -c weir -n $watch -s q -l queue -x -d 'Only this queue'
complete -c weir -n $watch -l plain -d 'A line per change'

complete -c weir -n '__fish_seen_subcommand_from ps' -xa '(__fish_complete_pids)'
