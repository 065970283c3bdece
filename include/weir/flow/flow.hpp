// SPDX-License-Identifier: MIT
// Everything of the flow layer: limits, breakers, retries, pools, pipelines, streams, background
// tasks.
#pragma once

#include <weir/flow/adaptive_limit.hpp>
#include <weir/flow/batch.hpp>
#include <weir/flow/batcher.hpp>
#include <weir/flow/bulkhead.hpp>
#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/combined_limiter.hpp>
#include <weir/flow/consume.hpp>
#include <weir/flow/debouncer.hpp>
#include <weir/flow/fallback.hpp>
#include <weir/flow/fixed_window.hpp>
#include <weir/flow/hedge.hpp>
#include <weir/flow/keyed.hpp>
#include <weir/flow/keyed_limiter.hpp>
#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/loading_cache.hpp>
#include <weir/flow/map_concurrent.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/pool.hpp>
#include <weir/flow/process_metrics.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/retry.hpp>
#include <weir/flow/retry_loop.hpp>
#include <weir/flow/single_flight.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/streams.hpp>
#include <weir/flow/task_manager.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/flow/worker_pool.hpp>
