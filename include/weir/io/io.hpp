// SPDX-License-Identifier: MIT
// Everything of the I/O layer.
#pragma once

#include <weir/io/address.hpp>
#include <weir/io/any_stream.hpp>
#include <weir/io/blocking.hpp>
#include <weir/io/buffer.hpp>
#include <weir/io/buffered.hpp>
#include <weir/io/byte_stream.hpp>
#include <weir/io/channel.hpp>
#include <weir/io/copy_both.hpp>
#include <weir/io/dns.hpp>
#include <weir/io/error.hpp>
#include <weir/io/file.hpp>
#include <weir/io/file_system.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/pipe.hpp>
#include <weir/io/process.hpp>
#include <weir/io/read.hpp>
#include <weir/io/result.hpp>
#include <weir/io/serve.hpp>
#include <weir/io/socket.hpp>
#include <weir/io/standard_input.hpp>
#include <weir/io/stream_buffer.hpp>
#include <weir/io/tcp.hpp>
#include <weir/io/thread_pool.hpp>
#include <weir/io/threads.hpp>
#include <weir/io/tls.hpp>
#include <weir/io/tls_certificate.hpp>
#include <weir/io/udp.hpp>
#include <weir/io/uring.hpp>
