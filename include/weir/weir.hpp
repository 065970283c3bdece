// SPDX-License-Identifier: MIT
// Everything of the core, and the synchronisation primitives.
#pragma once

#include <weir/as_completed.hpp>
#include <weir/awaitable.hpp>
#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/fd.hpp>
#include <weir/finally.hpp>
#include <weir/foreign.hpp>
#include <weir/future.hpp>
#include <weir/gather.hpp>
#include <weir/generator.hpp>
#include <weir/group.hpp>
#include <weir/handle.hpp>
#include <weir/local.hpp>
#include <weir/loop.hpp>
#include <weir/outcome.hpp>
#include <weir/race.hpp>
#include <weir/run.hpp>
#include <weir/scope.hpp>
#include <weir/spawn.hpp>
#include <weir/stop_token.hpp>
#include <weir/stream.hpp>
#include <weir/submit.hpp>
#include <weir/sync/barrier.hpp>
#include <weir/sync/condition.hpp>
#include <weir/sync/event.hpp>
#include <weir/sync/mutex.hpp>
#include <weir/sync/queue.hpp>
#include <weir/sync/semaphore.hpp>
#include <weir/task.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>
#include <weir/wait.hpp>
