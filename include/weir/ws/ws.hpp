// SPDX-License-Identifier: MIT
// All of weir::ws.
#pragma once

#include <weir/ws/accept.hpp>
#include <weir/ws/client.hpp>
#include <weir/ws/close_code.hpp>
#include <weir/ws/connection.hpp>
#include <weir/ws/error.hpp>
#include <weir/ws/frame.hpp>
#include <weir/ws/hub.hpp>
#include <weir/ws/message.hpp>
#include <weir/ws/options.hpp>
#include <weir/ws/position.hpp>
#include <weir/ws/posted.hpp>
#include <weir/ws/serve.hpp>
