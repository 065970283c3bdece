// SPDX-License-Identifier: MIT

module bench_go

go 1.19
