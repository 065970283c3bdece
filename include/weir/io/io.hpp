// SPDX-License-Identifier: MIT
// Everything of the I/O layer but TLS and DNS, which are asked for by name.
#pragma once

#include <weir/io/address.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/io/blocking.hpp>
#include <weir/io/buffer.hpp>
#include <weir/io/buffered.hpp>
#include <weir/io/byte_stream.hpp>
#include <weir/io/error.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/read.hpp>
#include <weir/io/serve.hpp>
#include <weir/io/socket.hpp>
#include <weir/io/thread_pool.hpp>
