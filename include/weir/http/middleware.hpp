// SPDX-License-Identifier: MIT
// All middleware. Each has a header of its own; handler.hpp defines what a middleware is.
#pragma once

#include <weir/http/access_log.hpp>
#include <weir/http/answered.hpp>
#include <weir/http/bearer_auth.hpp>
#include <weir/http/body_limit.hpp>
#include <weir/http/client_limit.hpp>
#include <weir/http/compression.hpp>
#include <weir/http/cors.hpp>
#include <weir/http/deadline.hpp>
#include <weir/http/request_id.hpp>
#include <weir/http/trusted_proxies.hpp>
