module bench_go

go 1.19
