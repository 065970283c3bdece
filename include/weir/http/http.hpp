// SPDX-License-Identifier: MIT
// All of weir::http: server, router, middleware, files, client. JSON (json.hpp) apart, since it
// brings Boost.JSON's headers with it; WebSocket is in weir/ws/ws.hpp.
#pragma once

#include <weir/http/assets.hpp>
#include <weir/http/client.hpp>
#include <weir/http/compression.hpp>
#include <weir/http/date.hpp>
#include <weir/http/files.hpp>
#include <weir/http/handler.hpp>
#include <weir/http/link.hpp>
#include <weir/http/media_type.hpp>
#include <weir/http/middleware.hpp>
#include <weir/http/origin.hpp>
#include <weir/http/polite_client.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/query.hpp>
#include <weir/http/request.hpp>
#include <weir/http/response.hpp>
#include <weir/http/router.hpp>
#include <weir/http/server.hpp>
#include <weir/http/url.hpp>
