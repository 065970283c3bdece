// SPDX-License-Identifier: MIT
// Both halves of a buffered stream.
#pragma once

#include <weir/io/buffered_reader.hpp>
#include <weir/io/buffered_writer.hpp>
